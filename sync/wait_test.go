package shmsync

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// clean fails the test if it leaves a goroutine, a counted waiter or another
// park schedule behind.
func clean(t *testing.T) {
	times := parkTimes
	ignored := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		parkTimes = times
		until(t, "no waiter counted", func() bool { return crowd.Load() == 0 })
		goleak.VerifyNone(t, ignored)
	})
}

// watchdog ends what hangs; no test judges a time by it.
const watchdog = 3 * time.Minute

// receive is a channel's next value; what hangs fails with every stack.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(watchdog):
		stacks := make([]byte, 1<<20)
		t.Fatalf("hangs:\n%s", stacks[:runtime.Stack(stacks, true)])
		panic("not reached")
	}
}

// until waits for something that another goroutine is bound to do.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(watchdog); !holds(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// lookout is an Overseer made of functions; nil ones see nothing.
type lookout struct {
	over    func() bool
	ended   func() error
	inspect func(time.Duration) error
}

func (l lookout) Over() bool { return l.over != nil && l.over() }

func (l lookout) Ended() error {
	if l.ended == nil {
		return nil
	}
	return l.ended()
}

func (l lookout) Inspect(waited time.Duration) error {
	if l.inspect == nil {
		return nil
	}
	return l.inspect(waited)
}

var nobody lookout

// looks is a Condition made of a function.
type looks func() bool

func (l looks) Look() bool               { return l() }
func (l looks) Missing(into []int) []int { return into }
func flag(word *uint64) (f *Flags)       { f = NewFlags([]*uint64{word}, 0); f.Expect(1); return f }
func set(word *uint64)                   { atomic.StoreUint64(word, 1) }
func asleep(d *Doorbell) func() bool     { return func() bool { return d.parked.Load() == 1 } }
func await(p *Place, ctx context.Context, c Condition, o Overseer) <-chan error {
	done := make(chan error, 1)
	go func() { done <- p.Wait(ctx, c, o) }()
	return done
}

// onlyRings makes every park but the first far longer than the test: whoever
// wakes in time was rung.
func onlyRings() { parkTimes = [...]time.Duration{time.Millisecond, time.Hour, time.Hour} }

var errGone = errors.New("gone")

var policies = map[string]Policy{
	"spin":      {Spin: DefaultSpin},
	"pausing":   {Spin: DefaultSpin, Pausing: true},
	"shared":    {},
	"inprocess": {InProcess: true},
}

func eachPolicy(t *testing.T, f func(t *testing.T, p *Place)) {
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			clean(t)
			f(t, &Place{Bell: new(Doorbell), Policy: policy})
		})
	}
}

// What has arrived has arrived: a condition that holds beats a context that is
// done and an overseer that has found somebody dead, also when it came to hold
// only while they were asked.
func TestConditionBeatsErrors(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		var word uint64
		fails := lookout{ended: func() error { return errGone }}
		require.ErrorIs(t, receive(t, await(p, context.Background(), flag(&word), fails)), errGone)
		require.ErrorIs(t, receive(t, await(p, cancelled, flag(&word), nobody)), context.Canceled)

		for what, c := range map[string]struct {
			ctx context.Context
			o   func(word *uint64) lookout
		}{
			"before": {cancelled, func(word *uint64) lookout { set(word); return fails }},
			"while ended is asked": {context.Background(), func(word *uint64) lookout {
				return lookout{ended: func() error { set(word); return errGone }}
			}},
			"while it is inspected": {context.Background(), func(word *uint64) lookout {
				return lookout{inspect: func(time.Duration) error { set(word); return errGone }}
			}},
			"while the context is asked": {cancelled, func(word *uint64) lookout {
				return lookout{ended: func() error { set(word); return nil }}
			}},
		} {
			var word uint64
			require.NoError(t, receive(t, await(p, c.ctx, flag(&word), c.o(&word))), what)
		}
	})
}

// A cause is worth more than the news that the caller has lost patience.
func TestOverseerBeatsContext(t *testing.T) {
	clean(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var word uint64
	p := &Place{Bell: new(Doorbell)}
	o := lookout{ended: func() error { return errGone }}
	require.ErrorIs(t, receive(t, await(p, ctx, flag(&word), o)), errGone)
}

// A sender that stores, passes a barrier and rings wakes whoever sleeps,
// however often and whichever of the two is ahead.
func TestRingWakes(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		parkTimes = [...]time.Duration{time.Hour, time.Hour, time.Hour}
		const rounds = 300
		var there, back uint64
		other := &Place{Bell: new(Doorbell), Policy: p.Policy}
		done := make(chan error, 2)
		rank := func(own, peer *Place, in, out *uint64) {
			f := NewFlags([]*uint64{in}, 0)
			for i := uint64(1); i <= rounds; i++ {
				atomic.StoreUint64(out, i)
				peer.Bell.Ring()
				f.Expect(i)
				if i%3 == 0 {
					until(t, "asleep or rung", func() bool { return f.Look() || own != p || asleep(peer.Bell)() })
				}
				if err := own.Wait(t.Context(), f, nobody); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}
		go rank(p, other, &back, &there)
		go rank(other, p, &there, &back)
		require.NoError(t, receive(t, done))
		require.NoError(t, receive(t, done))
	})
}

// A sender may store and ring right behind any look of the waiter: whether it
// finds somebody asleep or not, the waiter does not sleep through it.
func TestNoRingIsLost(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		p.Policy.Spin = min(p.Policy.Spin, time.Microsecond)
		parkTimes = [...]time.Duration{time.Hour, time.Hour, time.Hour}
		for at, parked := 1, false; !parked; at++ {
			n, stored := 0, false
			p.Bell.parked.Store(0)
			err := receive(t, await(p, context.Background(), looks(func() bool {
				if n++; stored {
					return true
				}
				if parked = asleep(p.Bell)(); n < at && !parked {
					return false
				}
				stored = true
				p.Bell.Ring()
				return false
			}), nobody))
			require.NoError(t, err, "stored behind look %d", at)
		}
	})
}

// A sender that does not look at the doorbell, or whose ring is lost with it,
// costs a bounded park and nothing else.
func TestLostRingIsRepaired(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		var word uint64
		done := await(p, context.Background(), flag(&word), nobody)
		until(t, "asleep", asleep(p.Bell))
		set(&word)
		require.NoError(t, receive(t, done))
	})
}

// Whoever sleeps on one doorbell is woken by every ring of it; the one whose
// condition does not hold sleeps again and can be rung again.
func TestTwoWaitersOnOneDoorbell(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		onlyRings()
		ready := make(chan struct{}, 2)
		o := func() lookout {
			slept := false // from now on only a ring can wake it
			return lookout{inspect: func(time.Duration) error {
				if !slept {
					slept = true
					ready <- struct{}{}
				}
				return nil
			}}
		}
		var first, second uint64
		one := await(p, context.Background(), flag(&first), o())
		two := await(p, context.Background(), flag(&second), o())
		receive(t, ready)
		receive(t, ready)
		until(t, "asleep", asleep(p.Bell))
		set(&first)
		p.Bell.Ring()
		require.NoError(t, receive(t, one))
		until(t, "asleep again", asleep(p.Bell))
		require.Empty(t, two)
		set(&second)
		p.Bell.Ring()
		require.NoError(t, receive(t, two))
	})
}

// Cancelling rings: a sleeper does not finish its park first.
func TestCancelWakesASleeper(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		onlyRings()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var word uint64
		slept := make(chan struct{}, 1)
		done := await(p, ctx, flag(&word), lookout{inspect: func(time.Duration) error {
			select {
			case slept <- struct{}{}:
			default:
			}
			return nil
		}})
		receive(t, slept)
		cancel()
		require.ErrorIs(t, receive(t, done), context.Canceled)
	})
}

// A deadline ends a park without anybody's ring.
func TestDeadlineEndsAWait(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		parkTimes = [...]time.Duration{time.Hour, time.Hour, time.Hour}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		var word uint64
		require.ErrorIs(t, receive(t, await(p, ctx, flag(&word), nobody)), context.DeadlineExceeded)
		// And one that has passed already, where it is no different.
		require.ErrorIs(t, receive(t, await(p, ctx, flag(&word), nobody)), context.DeadlineExceeded)
	})
}

// hookedContext knows what waits for its end.
type hookedContext struct {
	context.Context
	hooks atomic.Int32
}

func (c *hookedContext) Value(any) any { return nil } // else package context looks through it

func (c *hookedContext) AfterFunc(func()) func() bool {
	c.hooks.Add(1)
	return func() bool { c.hooks.Add(-1); return true }
}

// Behind a wait nothing of it touches the doorbell any more: the memory may be
// unmapped next. A ring that is only registered with the context is taken back;
// one that is on its way is waited for.
func TestNoRingAfterTheWait(t *testing.T) {
	t.Run("taken back", func(t *testing.T) {
		clean(t)
		parent, cancel := context.WithCancel(context.Background())
		defer cancel()
		ctx := &hookedContext{Context: parent}
		p := &Place{Bell: new(Doorbell)}
		var word uint64
		done := await(p, ctx, flag(&word), nobody)
		until(t, "registered", func() bool { return ctx.hooks.Load() == 1 })
		set(&word)
		require.NoError(t, receive(t, done))
		require.Zero(t, ctx.hooks.Load())
	})
	t.Run("waited for", func(t *testing.T) {
		clean(t)
		// With one P the ring cannot run before the waiter, which cancels by
		// its own hand, gives way.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p := &Place{Bell: new(Doorbell)}
		var word uint64
		times := 0
		err := p.Wait(ctx, flag(&word), lookout{inspect: func(time.Duration) error {
			if times++; times == 2 {
				cancel()
			}
			return nil
		}})
		rings := p.Bell.bell.Load()
		require.ErrorIs(t, err, context.Canceled)
		require.EqualValues(t, 1, rings, "the wait ended before its ring")
	})
}

// A wait that nobody rings is inspected again and again, and told how long it
// has lasted, which only grows.
func TestInspectWhenParksRunOut(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		var word uint64
		var told []time.Duration
		err := receive(t, await(p, context.Background(), flag(&word), lookout{inspect: func(waited time.Duration) error {
			if told = append(told, waited); len(told) == 4 {
				return errGone
			}
			return nil
		}}))
		require.ErrorIs(t, err, errGone)
		require.IsIncreasing(t, told)
		require.GreaterOrEqual(t, told[0], parkTimes[0])
	})
}

// Rings that bring nothing do not keep a wait from being looked after: a busy
// neighbour must not hide a dead one.
func TestInspectWhenRungAllTheTime(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		parkTimes[0] = 5 * time.Millisecond
		rung := looks(func() bool { p.Bell.bell.Add(1); return false })
		times := 0
		err := receive(t, await(p, context.Background(), rung, lookout{inspect: func(waited time.Duration) error {
			if times++; times == 3 {
				require.GreaterOrEqual(t, waited, 3*parkTimes[0])
				return errGone
			}
			return nil
		}}))
		require.ErrorIs(t, err, errGone)
	})
}

// Where ranks share CPUs the first look is the only one: whoever goes on looking
// keeps the one it waits for from running.
func TestQuick(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		n := 0
		never := looks(func() bool { n++; return false })
		require.False(t, p.Quick(never))
		if p.Policy.Spin == 0 {
			require.Equal(t, 1, n)
		} else {
			later := looks(func() bool { n--; return n == 0 })
			require.True(t, p.Quick(later))
		}
		require.True(t, p.Quick(looks(func() bool { return true })))
		require.Zero(t, p.Bell.parked.Load())
	})
}

// With one P, whoever the wait is for may be a goroutine that needs it: where
// there are other symwin goroutines, or only such, every pause lets them run.
func TestPausesLetOtherGoroutinesRun(t *testing.T) {
	for _, c := range []struct {
		what   string
		policy Policy
		crowd  bool
	}{
		{"in process", Policy{InProcess: true}, false},
		{"beside a stream", Policy{}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			clean(t)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			if c.crowd {
				Join()
				defer Leave()
			}
			turns, stop := takeTurns()
			defer stop()
			p := &Place{Bell: new(Doorbell), Policy: c.policy}
			pauses, began := int64(0), turns.Load()
			err := p.Wait(context.Background(), looks(func() bool {
				if asleep(p.Bell)() {
					return true
				}
				pauses++
				return false
			}), nobody)
			require.NoError(t, err)
			// Two bursts end in a turn anyway; a P that is given away at every
			// pause makes it about one turn a pause.
			require.Greater(t, turns.Load()-began, pauses/2, "in %d pauses", pauses)
		})
	}
}

// Where the waiter has the only P, the program's other goroutines get their
// turns in every phase, long before the runtime would preempt anybody (10 ms).
func TestOnlyPIsShared(t *testing.T) {
	for _, c := range []struct {
		what   string
		policy Policy
		looks  int
	}{
		{"spin", Policy{Spin: time.Hour}, 300_000}, // some 3 ms
		{"yield", Policy{}, bursts*(burstLen+1) + 2},
	} {
		t.Run(c.what, func(t *testing.T) {
			clean(t)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			turns, stop := takeTurns()
			defer stop()
			p := &Place{Bell: new(Doorbell), Policy: c.policy}
			left, began := c.looks, turns.Load()
			err := p.Wait(context.Background(), looks(func() bool {
				left--
				return left == 0 || turns.Load() > began
			}), nobody)
			require.NoError(t, err)
			require.Greater(t, turns.Load(), began)
		})
	}
}

// takeTurns runs a goroutine that counts how often it gets the P, and gives it
// away again.
func takeTurns() (turns *atomic.Int64, stop func()) {
	turns = new(atomic.Int64)
	over := make(chan struct{})
	go func() {
		for {
			select {
			case <-over:
				return
			default:
				turns.Add(1)
				runtime.Gosched()
			}
		}
	}()
	runtime.Gosched()
	return turns, func() { close(over) }
}

// A wait of less than a park allocates nothing, whatever phase it ends in.
func TestShortWaitsAllocateNothing(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		for _, after := range []int{0, 20, bursts*burstLen + 1} {
			n := 0
			var c Condition = looks(func() bool { n++; return n > after || asleep(p.Bell)() })
			var o Overseer = nobody
			ctx, cancel := context.WithCancel(context.Background())
			require.Zero(t, testing.AllocsPerRun(20, func() {
				n = 0
				p.Bell.parked.Store(0)
				if err := p.Wait(ctx, c, o); err != nil {
					panic(err)
				}
			}), "found at look %d", after)
			cancel()
		}
	})
}

// TestNoYieldsOnceItIsOver: whoever waits for what will not come any more gives
// the CPU away once at most, before he parks and after he was rung: on a full
// machine each time may last as long as everybody else's turn.
func TestNoYieldsOnceItIsOver(t *testing.T) {
	p := &Place{Bell: new(Doorbell)}
	looked := 0
	never := looks(func() bool { looked++; return false })
	over := lookout{over: func() bool { return true }, ended: func() error { return errGone }}
	require.ErrorIs(t, p.Wait(t.Context(), never, over), errGone)
	require.Less(t, looked, burstLen)

	var ended atomic.Bool
	looked = 0
	asked := make(chan bool, 1)
	over = lookout{over: ended.Load, ended: func() error {
		if ended.Load() {
			return errGone
		}
		looked = 0
		select {
		case asked <- true:
		default:
		}
		return nil
	}}
	defer func(before [3]time.Duration) { parkTimes = before }(parkTimes)
	parkTimes = [...]time.Duration{time.Hour, time.Hour, time.Hour}
	done := await(p, t.Context(), never, over)
	receive(t, asked)
	until(t, "it sleeps", asleep(p.Bell))
	ended.Store(true)
	p.Bell.RingAlways()
	require.ErrorIs(t, receive(t, done), errGone)
	require.Less(t, looked, burstLen)
}

func TestSees(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p *Place) {
		word := uint64(3)
		require.True(t, p.Sees(&word, 3))
		require.False(t, p.Sees(&word, 4), "and does not look for ever")
		if p.Policy.Spin == 0 {
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			atomic.StoreUint64(&word, 4)
		}()
		for !p.Sees(&word, 4) {
			runtime.Gosched()
		}
		<-done
	})
}
