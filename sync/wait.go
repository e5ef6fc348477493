package shmsync

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/futex"
	"github.com/symwin/symwin/internal/line"
)

// Overseer looks at what a Condition does not: abort words, the dead, the late.
// It is asked behind the spin only. An error is returned only if the condition
// does not hold when looked at once more: what has arrived has arrived.
type Overseer interface {
	// Over reports whether Ended may find something: a few loads. It is asked
	// before each yield, because on a machine that is full of other work each
	// may take as long as a time slice of all of that.
	Over() bool
	// Ended reports why the wait must end without success, or nil: a look at a
	// few abort words. On a full machine every wait parks, so this is part of
	// every operation there.
	Ended() error
	// Inspect is the thorough look, when a park has run out: who has died,
	// left, called something else, is late. waited is how long the wait has
	// lasted; time during which the process was stopped does not count.
	Inspect(waited time.Duration) error
}

// Policy says how a rank's waits pass their time before they park.
type Policy struct {
	// Spin is how long to spin. Zero where ranks share CPUs: whoever spins
	// there keeps the one it waits for from running.
	Spin time.Duration
	// Pausing means that also the first looks come with a pause. On Zen 4, where one
	// is short, looks that follow each other at once take the line away from whoever
	// is writing it (two ranks, ns, without and with: barrier 112 and 95, latency of
	// 512 bytes 129 and 112); on processors since Skylake it takes half a flight.
	Pausing bool
	// InProcess means that those waited for are goroutines of this process:
	// every pause is a runtime.Gosched.
	InProcess bool
}

// DefaultSpin bounds the spin of a rank with a CPU of its own. Parking and being
// woken cost 5 to 20 µs; a wait that lasts several times as long is not made
// noticeably slower by a park.
const DefaultSpin = 100 * time.Microsecond

// Place is where the goroutines of one rank wait: its doorbell and its policy.
// Any number of goroutines may wait at one Place at once.
type Place struct {
	Bell   *Doorbell
	Policy Policy
}

const (
	// eagerLooks come without a pause. A line is here within two or three times
	// the time it travels, and a PAUSE takes 50 ns on processors since Skylake:
	// half a flight late, on average, in every exchange.
	eagerLooks = 128
	quickLooks = 64 // looks before the clock is read for the first time, about 1 to 3 µs
	clockEvery = 32 // looks between two readings of the clock, which costs 20 to 50 ns
	bursts     = 2  // of raw yields before a park
	burstLen   = 16
)

// undisturbed is how long a spin keeps the CPU. Giving way costs 0.5 µs, so a
// longer wait finds out 15 ns later on average; a shorter one pays nothing.
const undisturbed = 10 * time.Microsecond

// parkTimes bound the parks of one wait: the first catches the one wake-up that
// an unfenced sender can miss, the last keeps a long sleeper from costing CPU.
var parkTimes = [...]time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond}

// crowd counts the goroutines of this process that are in the slow part of a
// wait or work for a stream. When there is more than one they may be waiting for
// each other, so every pause gives the Go scheduler its chance first.
var crowd atomic.Int32

// Join counts the caller as one of this process's symwin goroutines until it
// calls Leave. Waits of the process are Gosched-first while there are others.
func Join() { crowd.Add(1) }

// Leave undoes one Join.
func Leave() { crowd.Add(-1) }

// Quick looks at c for a microsecond or three and reports whether it came to
// hold. It is what every operation does first; behind it the caller rings the
// doorbells of those it wrote to, and then calls Wait if it must.
func (p *Place) Quick(c Condition) bool {
	if c.Look() {
		return true
	}
	if p.Policy.Spin == 0 {
		return false
	}
	for range eagerLooks {
		if p.Policy.Pausing {
			line.Pause()
		}
		if c.Look() {
			return true
		}
	}
	for range quickLooks {
		line.Pause()
		if c.Look() {
			return true
		}
	}
	return false
}

// Sees is Quick for the plainest condition of all, that a word comes to hold v, and
// takes no call for each look. Whoever does not see it goes on with Quick.
func (p *Place) Sees(word *uint64, v uint64) bool {
	if p.Policy.Spin == 0 {
		return atomic.LoadUint64(word) == v
	}
	for range eagerLooks {
		if atomic.LoadUint64(word) == v {
			return true
		}
		if p.Policy.Pausing {
			line.Pause()
		}
	}
	return false
}

// StandBack looks at nothing for so many pauses of the processor (15 to 60 ns each),
// where every rank has a CPU to pass them on.
func (p *Place) StandBack(pauses int) {
	if p.Policy.Spin == 0 {
		return
	}
	for range pauses {
		line.Pause()
	}
}

// Wait waits until c holds. Otherwise it returns what o found, or ctx's error.
// It allocates nothing unless it parks for more than a millisecond.
func (p *Place) Wait(ctx context.Context, c Condition, o Overseer) error {
	others := crowd.Add(1) > 1
	defer crowd.Add(-1)
	w := wait{place: p, ctx: ctx, cond: c, overseer: o, others: others}

	if p.spin(c, others) {
		return nil
	}
	if p.yield(c, o, others) {
		return nil
	}
	return w.park()
}

// spin is the first phase. A wait of up to undisturbed has the CPU for itself;
// in a longer one the program and the machine get their turns.
func (p *Place) spin(c Condition, others bool) bool {
	if p.Policy.InProcess || p.Policy.Spin == 0 {
		return c.Look()
	}
	turn := min(undisturbed, p.Policy.Spin)
	for start := time.Now(); ; {
		for range clockEvery {
			if c.Look() {
				return true
			}
			line.Pause()
		}
		if others {
			runtime.Gosched()
		}
		spun := time.Since(start)
		if spun < turn {
			continue
		}
		if spun > p.Policy.Spin && !held(phaseSpin) {
			return false
		}
		futex.Yield()
		giveWay()
		turn = time.Since(start) + undisturbed
	}
}

// yield is the second phase.
func (p *Place) yield(c Condition, o Overseer, others bool) bool {
	for burst := 0; burst < bursts || held(phaseYield); burst++ {
		if p.burst(c, o, others) {
			return true
		}
	}
	return false
}

// burst gives the CPU away burstLen times, then the program its turn. Once the
// wait is over it gives nothing away: sixteen yields beside four busy processes on
// two CPUs took 92 ms, which was the time in which a death became known there.
func (p *Place) burst(c Condition, o Overseer, others bool) bool {
	for range burstLen {
		if o.Over() {
			return c.Look()
		}
		if p.Policy.InProcess || others {
			runtime.Gosched()
		} else {
			futex.Yield()
		}
		if c.Look() {
			return true
		}
	}
	giveWay()
	return c.Look()
}

// giveWay is the Go scheduler's turn. A wait that only makes raw system calls
// holds its P, so a collection would stand still as long as the wait lasts, and
// where it is the only P so would all other goroutines. The call itself, which
// must not be inlined, is the preemption point: its stack check is where the
// runtime stops a goroutine that it wants to preempt. Only then comes Gosched,
// which has no stack check, and behind which the collector's request is wiped
// out.
//
// With more than one P the others run the goroutines, and Gosched would wake an
// idle one each time to look for work that is not there: a burst and Gosched
// took 7 to 9 µs and another CPU, the burst alone 4.
//
//go:noinline
func giveWay() {
	if runtime.GOMAXPROCS(0) == 1 {
		runtime.Gosched()
	}
}

// wait is the state of one wait behind its spin.
type wait struct {
	place    *Place
	ctx      context.Context
	cond     Condition
	overseer Overseer
	others   bool // there are other symwin goroutines in the process
	waited   time.Duration
}

// over reports whether the wait has ended, by what the overseer found (or not)
// or by its context, and the error unless the condition holds after all.
func (w *wait) over(found error) (bool, error) {
	if found == nil {
		found = w.ctx.Err()
	}
	if found == nil {
		return false, nil
	}
	if w.cond.Look() {
		return true, nil
	}
	return true, found
}

// park is the third phase.
func (w *wait) park() error {
	bell := w.place.Bell
	inspectNext := parkTimes[0] // also a wait that is rung all the time is looked after
	var unhook func()
	defer func() {
		if unhook != nil {
			unhook()
		}
	}()
	var mark time.Time // up to where waited counts
	for n := 0; ; n++ {
		heard := bell.bell.Load()
		bell.parked.Swap(1)
		failpoint.Hit(failpoint.ParkSet)
		// Everything is looked at between reading the bell and sleeping on it:
		// whoever changes anything from now on rings.
		if w.cond.Look() {
			return nil
		}
		if done, err := w.over(w.overseer.Ended()); done {
			return err
		}
		limit := w.limit(n)
		start := time.Now()
		if mark.IsZero() {
			mark = start
		}
		failpoint.Hit(failpoint.ParkLooked)
		futex.Wait(wordOf(&bell.bell), heard, limit)
		failpoint.Hit(failpoint.ParkWoken)
		now := time.Now()
		slept := now.Sub(start)
		// The round before the sleep counts too: on a full machine its yields
		// may take longer than the sleep. A process that was stopped meanwhile
		// has not waited that long.
		w.waited += min(now.Sub(mark), 2*limit)
		mark = now
		if w.cond.Look() {
			return nil
		}
		if slept < limit && !held(phasePark) {
			// Rung. More is probably on its way: one more round of yields is
			// cheaper than another sleep and another ring.
			if w.place.burst(w.cond, w.overseer, w.others) {
				return nil
			}
			n = -1
			if w.waited < inspectNext {
				continue
			}
		}
		inspectNext = w.waited + parkTimes[0]
		if done, err := w.over(w.overseer.Inspect(w.waited)); done {
			return err
		}
		if unhook == nil && w.ctx.Done() != nil {
			// From here on the wait is long, so cancellation may cost an
			// allocation: it rings like any sender.
			unhook = ringOnEnd(w.ctx, bell)
		}
	}
}

// ringOnEnd rings bell when ctx ends. The function it returns takes that back,
// or waits for the ring if it is on its way: behind the wait the bell's memory
// may be unmapped.
func ringOnEnd(ctx context.Context, bell *Doorbell) (undo func()) {
	rung := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		bell.RingAlways()
		close(rung)
	})
	return func() {
		if !stop() {
			<-rung
		}
	}
}

// limit bounds the n-th park, by the context's deadline too.
func (w *wait) limit(n int) time.Duration {
	limit := parkTimes[min(n, len(parkTimes)-1)]
	if deadline, ok := w.ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(deadline), time.Microsecond))
	}
	return limit
}
