package symmem

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/futex"
)

// guard keeps the liveness of one rank: a goroutine locked to its thread for as
// long as the rank lives. It alone writes the rank's liveness word, and it sleeps
// on the word of the next living rank, in a ring.
//
// The kernel does the rest (robust futexes): when the thread ends, by whatever
// death of the process, the kernel marks the word OwnerDied and wakes the one
// sleeper, the predecessor's guard, before it frees the process's memory. The
// predecessor aborts the world with the dead rank's name. When several die at
// once, one of them has a living predecessor. What the ring alone cannot see, a
// predecessor that is stopped, every wait sees for itself: it looks at all words
// whenever a park runs out.
type guard struct {
	r        *region
	rank     int
	abort    func(failed []int)
	stop     atomic.Bool
	tid      int          // its thread, once the place is claimed
	sleepsOn atomic.Int32 // rank whose word the guard sleeps on, -1: none
	ended    chan struct{}
	pidfd    bool // fallback: robust lists are refused, or not wanted
}

// startGuard claims the rank's place and starts to guard it. The error is
// errTaken if somebody has the place.
func startGuard(r *region, rank int, pidfd bool, abort func([]int)) (*guard, error) {
	g := &guard{r: r, rank: rank, abort: abort, ended: make(chan struct{}), pidfd: pidfd}
	g.sleepsOn.Store(-1)
	claimed := make(chan error)
	go g.run(claimed)
	if err := <-claimed; err != nil {
		return nil, err
	}
	return g, nil
}

var errTaken = errors.New("the place is taken")

func (g *guard) run(claimed chan<- error) {
	defer close(g.ended)
	// Locked for good: the thread's end is what the kernel reports.
	runtime.LockOSThread()
	g.tid = futex.Tid()
	word := lifeWord(g.r.blocks[g.rank])
	var robust *futex.Robust
	var err error
	if !g.pidfd {
		robust, err = futex.Arm(word)
		if err != nil && !errors.Is(err, futex.ErrPlaceTaken) {
			g.pidfd = true
		}
	}
	if g.pidfd {
		err = nil
		if !atomic.CompareAndSwapUint32(word, 0, uint32(futex.Tid())|futex.Waiters) {
			err = futex.ErrPlaceTaken
		}
	}
	if err != nil {
		runtime.UnlockOSThread()
		claimed <- errTaken
		return
	}
	failpoint.Hit(failpoint.JoinClaimed)
	g.tell()
	claimed <- nil

	g.watch()

	// Left. The next guard down the ring wakes and takes our successor.
	atomic.StoreUint32(word, leftWord)
	failpoint.Hit(failpoint.CloseLeft)
	futex.Wake(word, 1<<30)
	if robust != nil {
		robust.Disarm()
	}
	failpoint.Hit(failpoint.CloseDisarmed)
	// The thread ends with the goroutine that stays locked to it: it has given
	// up a robust list that a C library may have had on it.
}

// tell fills in who holds the place.
func (g *guard) tell() {
	who := &g.r.blocks[g.rank].who
	who.pid = uint32(os.Getpid())
	who.started = startTime(os.Getpid())
	who.space = pidSpace()
	who.cpus = usableCPUs()
	if g.pidfd {
		who.watched = 1
	}
	who.told.Store(1)
}

// watch follows the ring until the guard is told to stop or there is nobody left
// to watch.
func (g *guard) watch() {
	for !g.stop.Load() {
		// Read before the ring is looked at: while ranks join, the next one may
		// change without a word being rung.
		whole := int(g.r.head.joined.Load()) >= len(g.r.blocks)
		g.sleep(g.next(), whole)
	}
}

// next is the next rank that has come and not left; the own rank if there is
// none, whose word Close rings. While ranks still join there is no ring: a rank
// that has not come is passed over, and Join itself watches.
func (g *guard) next() int {
	n := len(g.r.blocks)
	for k := 1; k < n; k++ {
		s := (g.rank + k) % n
		switch g.r.blocks[s].lifeNow() {
		case Alive:
			return s
		case Dead:
			if g.r.head.abort.Load() == 0 {
				g.abort(g.r.dead())
			}
		}
	}
	return g.rank
}

// sleep sleeps once on the word of rank s, as long as it is as it was. Once the
// ring is whole there is no time-out: the kernel, or the rank that leaves, wakes
// us.
func (g *guard) sleep(s int, whole bool) {
	b := g.r.blocks[s]
	seen := b.life.Load()
	if s != g.rank && lifeOf(seen) != Alive {
		return
	}
	g.sleepsOn.Store(int32(s))
	defer g.sleepsOn.Store(-1)
	if g.stop.Load() {
		return
	}
	if s != g.rank && b.who.watched != 0 {
		g.pollPid(s, whole)
		return
	}
	limit := time.Duration(0)
	if !whole {
		limit = 10 * time.Millisecond
	}
	futex.Wait(lifeWord(b), seen, limit)
}

// pollPid is the fallback's watch over rank s: its pidfd, in steps short enough
// that a rank that left is noticed too. A process that is gone, or whose pid is
// another's by now, is marked dead on the kernel's behalf; the swap fails if the
// rank has left in the meantime.
func (g *guard) pollPid(s int, whole bool) {
	b := g.r.blocks[s]
	seen := b.life.Load()
	if b.who.elsewhere() {
		time.Sleep(pollStep) // its number is another process's here
		return
	}
	pid := int(b.who.pid)
	fd, err := pidfdOpen(pid)
	// Only what proves a death is one: that no descriptor is left to look with,
	// or that /proc cannot be read, proves nothing.
	started := startTime(pid)
	gone := noSuchProcess(err) || (started != 0 && b.who.started != 0 && started != b.who.started) || (err != nil && processOver(pid))
	if err != nil && !gone {
		time.Sleep(pollStep)
		return
	}
	if err == nil {
		for !gone && !g.stop.Load() && b.life.Load() == seen {
			gone = pidfdEnded(fd, pollStep)
			if !whole {
				break
			}
		}
		closeFd(fd)
	}
	if gone && lifeOf(seen) == Alive {
		b.life.CompareAndSwap(seen, seen&futex.Waiters|futex.OwnerDied)
	}
}

// pollStep bounds how long the fallback looks away.
const pollStep = 20 * time.Millisecond

// elsewhere reports whether the rank's process is in another PID namespace.
func (who *identity) elsewhere() bool {
	return who.space != 0 && pidSpace() != 0 && who.space != pidSpace()
}

// holds reports whether the own liveness word is as the guard has left it.
func (g *guard) holds() bool { return g.r.blocks[g.rank].life.Load() == uint32(g.tid)|futex.Waiters }

// close ends the guard: the rank has left. It returns when the thread's robust
// list is empty, after which the region may be unmapped.
func (g *guard) close() {
	g.stop.Store(true)
	for {
		if s := g.sleepsOn.Load(); s >= 0 {
			word := lifeWord(g.r.blocks[s])
			futex.Wake(word, 1<<30)
			if atomic.LoadUint32(word); g.r.lost.Load() != 0 {
				// It sleeps on a page that has another in its place by now.
				interrupt(g.tid)
			}
		}
		select {
		case <-g.ended:
			return
		case <-time.After(time.Millisecond):
			// It was between reading stop and sleeping: wake it again.
		}
	}
}

// diedText describes deaths as far as a rank can know them.
func (r *region) diedText(ranks []int) string {
	switch {
	case int(r.head.joined.Load()) < r.Size:
		return "died while joining"
	case len(ranks) == 1:
		return "its process ended without Close"
	}
	return fmt.Sprintf("%d processes ended without Close", len(ranks))
}
