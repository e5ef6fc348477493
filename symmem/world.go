package symmem

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	shmsync "github.com/symwin/symwin/sync"
)

// World is one rank's membership in a job: its region, its team of all ranks,
// its liveness.
//
// Rank, Size, Team, Abort and Close may be called from any goroutine at any time.
type World struct {
	opts  Options
	r     *region
	rank  int
	mine  *block
	guard *guard // nil in one process, and in a world of one
	place shmsync.Place
	// shared: there are ranks that share CPUs. Found out from what all ranks
	// told of themselves before they came, so all agree.
	shared bool
	team   *Team

	abortMu sync.Mutex
	closed  atomic.Bool
	mourned atomic.Bool  // the others were told that the region's memory is gone
	holds   atomic.Int64 // reasons to leave the windows mapped at Close
	waits   waitPlaceSet
	fence   atomic.Uint32 // target of the locked instruction before doorbells are looked at

	teamsMu sync.Mutex
	teams   uint64 // taken team numbers, one bit each

	gatesMu sync.Mutex
	gates   map[*gate]struct{} // of all that can be inside an operation

	attached atomic.Value
}

func newWorld(o Options, r *region) *World {
	w := &World{opts: o, r: r, rank: o.Rank, mine: r.blocks[o.Rank], teams: 1, gates: map[*gate]struct{}{}}
	w.place = shmsync.Place{Bell: &w.mine.bell}
	members := make([]int, r.Size)
	for i := range members {
		members[i] = i
	}
	w.team = newTeam(w, 0, members)
	return w
}

// Rank is this rank's number in the world, 0 to Size-1.
func (w *World) Rank() int { return w.rank }

// Size is the number of ranks.
func (w *World) Size() int { return w.r.Size }

// Team is the team of all ranks, in order.
func (w *World) Team() *Team { return w.team }

// Job is the job's name.
func (w *World) Job() string { return w.r.job }

// Geometry is the region's, as its creator made it.
func (w *World) Geometry() Geometry { return w.r.Geometry }

// Crowded reports whether there are ranks that share CPUs; all ranks say the same.
func (w *World) Crowded() bool { return w.shared }

// Abort ends the world for all ranks: their waits, and all later calls, return
// ErrAborted with this rank and err's text, of which 240 bytes cross. The first
// cause wins; a second Abort changes nothing.
func (w *World) Abort(err error) {
	text := "aborted by the program"
	if err != nil {
		text = err.Error()
	}
	w.abort(kindForAbort(err), nil, text)
}

func kindForAbort(err error) AbortKind {
	if err == nil {
		return AbortProgram
	}
	return kindOf(err)
}

func (w *World) abort(kind AbortKind, failed []int, text string) {
	if w.abortLocked(kind, failed, text) {
		w.opts.log("aborted the world: %v, %s", kind, text)
	}
}

func (w *World) abortLocked(kind AbortKind, failed []int, text string) bool {
	w.abortMu.Lock()
	defer w.abortMu.Unlock()
	return !w.closed.Load() && w.r.abort(w.rank, kind, failed, text)
}

// Close leaves the world. It is local, may be called at any time and more than
// once, and is the one call to defer. Calls that run, and later ones, return
// ErrClosed; ranks that wait for this one get ErrLeft. The region's memory goes
// with the last rank. A rank that ends without Close has died for its peers.
//
// If a window was allocated, or a session opened and not closed, or a call is
// still running, the region stays mapped to the end of the process: an address
// that somebody may hold must not fault. Its descriptors are closed either way.
func (w *World) Close() error {
	w.abortMu.Lock()
	if w.closed.Swap(true) {
		w.abortMu.Unlock()
		return nil
	}
	w.abortMu.Unlock()
	failpoint.Hit(failpoint.CloseBegun)
	// Running waits of this process look at closed when they are rung.
	w.mine.bell.RingAlways()
	if w.guard != nil {
		w.guard.close()
	} else {
		w.mine.life.Store(leftWord)
	}
	// Whoever waits for this rank sleeps no longer than its first short park
	// from now on.
	w.r.ringAll()
	w.r.closeFiles()
	if w.quiet() && w.holds.Load() == 0 {
		w.r.unmapAll()
	}
	w.opts.log("left")
	return nil
}

// quiet reports whether no operation of this process is under way, so that the
// memory may be unmapped. Otherwise it stays: an address that was computed
// before Close must not fault after it.
func (w *World) quiet() bool {
	w.gatesMu.Lock()
	defer w.gatesMu.Unlock()
	for g := range w.gates {
		if !g.idle() {
			return false
		}
	}
	return true
}

// know counts g among those that Close looks at; forget ends that.
func (w *World) know(g *gate) {
	w.gatesMu.Lock()
	w.gates[g] = struct{}{}
	w.gatesMu.Unlock()
}

func (w *World) forget(g *gate) {
	w.gatesMu.Lock()
	delete(w.gates, g)
	w.gatesMu.Unlock()
}

// usable reports why no operation may start, or nil: one load in the good case.
func (w *World) usable() error {
	if w.closed.Load() {
		return fmt.Errorf("this world is %w", ErrClosed)
	}
	if err := w.gone(); err != nil {
		return err
	}
	if w.r.head.abort.Load() != 0 {
		return w.abortError()
	}
	return nil
}

// abortError is the world's abort as an error.
func (w *World) abortError() error {
	a, ok := w.r.aborted()
	if !ok {
		return nil
	}
	w.mine.who.hears.Store(1)
	return a.err(w.r.fallen())
}

// inspect is the world's part of looking behind the spin.
func (w *World) inspect() error {
	if err := w.usable(); err != nil {
		// First cause wins, but whoever finds the word set rings once more,
		// since its author may have died before it rang everybody.
		if !errors.Is(err, ErrClosed) {
			w.r.ringAll()
		}
		return err
	}
	if w.guard != nil && !w.guard.holds() {
		if err := w.usable(); err != nil {
			return err // it has just been closed
		}
		// Zeroed or overwritten, and the rest hardly better: what this waits for
		// need not come, and a death would not be noticed.
		w.abort(AbortRegion, nil, fmt.Sprintf("the liveness word of rank %d is not what that rank has written", w.rank))
		return w.abortError()
	}
	if w.r.anyDead() {
		dead := w.r.dead()
		w.abort(AbortRankFailed, dead, w.r.diedText(dead))
		return w.abortError()
	}
	return nil
}

// debugged reports whether any rank's process is under a debugger.
func (w *World) debugged() bool {
	last := 0
	for _, b := range w.r.blocks {
		if pid := int(b.who.pid); pid != last && b.lifeNow() == Alive {
			if last = pid; tracer(pid) != 0 {
				return true
			}
		}
	}
	return false
}

// Hold keeps the windows mapped when the world is closed, until Unhold: somebody
// may still touch them, a program that was handed a slice (which is for ever) or
// an engine whose operations pass no lane. What passes a lane's gate behind Hold
// finds the memory there until Unhold.
func (w *World) Hold() { w.holds.Add(1) }

// Unhold undoes one Hold.
func (w *World) Unhold() { w.holds.Add(-1) }

// Window is the memory of rank's window. Only package window computes addresses
// in it.
func (w *World) Window(rank int) []byte { return w.r.window(rank) }

// Reserve makes sure that the own window has memory at [off, off+n): without it,
// a store there could be the death of whoever makes it. Error: *NoSpaceError.
func (w *World) Reserve(off, n int64) error { return w.r.reserve(w.rank, off, n) }

// Release gives memory of the own window back; it reads as zeroes afterwards.
func (w *World) Release(off, n int64) error { return w.r.release(w.rank, off, n) }

// Attached holds what package window keeps for the world: its allocator.
func (w *World) Attached() *atomic.Value { return &w.attached }
