package doctor

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/internal/futex"
	"github.com/symwin/symwin/internal/topo"
)

// probeTime is how long the line is sent to and fro: long enough to meet a host
// that moves its virtual CPUs, several times a second where it does.
const probeTime = 300 * time.Millisecond

// trips is how many round trips make a look: some 10 µs, so that few looks meet
// an interrupt, and the clock costs nothing beside it.
const trips = 64

// probe sends a line to and fro between two CPUs, of different cores and one node
// where there are such, and tells which part of their time the host took.
func probe(usable topo.Machine) (*Line, float64) {
	if len(usable) < 2 {
		return nil, 0
	}
	from, to := usable[0], usable[1]
	for _, c := range usable[1:] {
		if c.Core != from.Core {
			to = c
			break
		}
	}
	var words [3]struct { // there, back, stop
		atomic.Uint64
		_ [120]byte
	}
	there, back, stop := &words[0], &words[1], &words[2]
	looks := make([]float64, 0, 1<<16)
	before := stolen()
	answers := onOwnThread(func() {
		if topo.Bind([]int{to.ID}) != nil {
			return
		}
		for stop.Load() == 0 {
			back.Store(there.Load())
		}
	})
	asks := onOwnThread(func() {
		defer stop.Store(1)
		if topo.Bind([]int{from.ID}) != nil {
			return
		}
		trip := uint64(0)
		for start := time.Now(); len(looks) < cap(looks); {
			at := time.Now()
			for range trips {
				trip++
				there.Store(trip)
				for spins := 0; back.Load() != trip; spins++ {
					if spins&0xfffff == 0xfffff && time.Since(start) > probeTime {
						return // the other thread has no CPU
					}
				}
			}
			looks = append(looks, float64(time.Since(at).Nanoseconds())/(2*trips))
			if time.Since(start) > probeTime {
				return
			}
		}
	})
	<-asks
	<-answers
	after := stolen()
	steal := 0.0
	if all := after.all - before.all; all > 0 {
		steal = float64(after.steal-before.steal) / float64(all)
	}
	if len(looks) < 20 {
		return nil, steal
	}
	slices.Sort(looks)
	at := func(q float64) float64 { return looks[int(q*float64(len(looks)-1))] }
	return &Line{From: from.ID, To: to.ID, Median: at(0.5), Fast: at(0.05), Slow: at(0.95), Looks: len(looks)}, steal
}

type ticks struct{ steal, all int64 }

// stolen reads the first line of /proc/stat: user nice system idle iowait irq
// softirq steal … .
func stolen() (t ticks) {
	head, _, _ := strings.Cut(read("/proc/stat"), "\n")
	for i, text := range strings.Fields(head) {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && i <= 8 { // what follows is part of user
			t.all += n
			if i == 8 {
				t.steal = n
			}
		}
	}
	return t
}

// onOwnThread runs f on a thread that ends with it, so that what f has done to
// the thread ends, too. It is never the first one, which cannot end alone.
func onOwnThread(f func()) (done chan struct{}) {
	done = make(chan struct{})
	var run func()
	run = func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			go run() // which cannot be given this thread
			<-done
			runtime.UnlockOSThread()
			return
		}
		defer close(done)
		f()
	}
	go run()
	return done
}

// tryRobust lets a thread end that owns a word, and waits for the kernel's mark.
func tryRobust() string {
	word := new(uint32)
	var failed error
	<-onOwnThread(func() { _, failed = futex.Arm(word) })
	if failed != nil {
		return strings.TrimPrefix(failed.Error(), "futex: ")
	}
	for start := time.Now(); atomic.LoadUint32(word)&futex.OwnerDied == 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > 2*time.Second {
			return "the end of a thread left no mark"
		}
	}
	return ""
}
