package window

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
)

// Signals is how many signals each sender has at each receiver, by index: as
// many counters as fill the one cache line that is theirs.
const Signals = lineBytes / 8

func checkSignal(idx int) error {
	if idx < 0 || idx >= Signals {
		return fmt.Errorf("%w: signal %d; a sender has signals 0 to %d at each receiver", symmem.ErrUsage, idx, Signals-1)
	}
	return nil
}

// Signal counts up signal idx of this rank at rank to. Whoever waits there for
// the new count sees all that this goroutine put before.
//
// Each counter is a u64 in the receiver's window. Its one writer is the sender,
// which stores the count with release ordering; the receiver loads it with
// acquire and compares with ≥, since the sender may be ahead. For one receiver
// and index, one goroutine at a time. Errors as those of Put.
func (w *Window[T]) Signal(to, idx int) error {
	b := w.b
	if b.freed.Load() || b.team.Ended() || uint(to) >= uint(len(b.to)) || uint(idx) >= Signals {
		return b.signalRefused(to, idx)
	}
	b.signal(&b.to[to], idx)
	return nil
}

// PutSignal is Put and then Signal: rank to, having waited for the count, sees
// all of src. Nothing is stored if either is refused.
func (w *Window[T]) PutSignal(to, off int, src []T, idx int) error {
	if w.b.putSignal(to, off, len(src), Raw(src), idx) {
		return nil
	}
	return w.b.putRefused(to, off, len(src), idx)
}

// putSignal is PutSignal for n elements, if it is not to be refused. It is one
// piece because each call it would be made of shows between the arrival of a
// signal and the answer to it (two ranks, 8 bytes: 157 ns one way, 140 so).
func (b *block) putSignal(to, off, n int, src []byte, idx int) bool {
	if b.freed.Load() || b.team.Ended() || uint(to) >= uint(len(b.to)) || !b.inside(off, n) || uint(idx) >= Signals {
		return false
	}
	dst := b.data[to][int64(off)*b.eltSize:]
	if len(src) < wideLeast {
		b.ask(to, idx)
		copy(dst, src)
	} else {
		b.putLonger(to, idx, dst, src)
	}
	b.signal(&b.to[to], idx)
	return true
}

// putLonger is the copy of a put of wideLeast or more.
func (b *block) putLonger(to, idx int, dst, src []byte) {
	if len(src) < wholeLines {
		b.ask(to, idx)
	}
	if len(src) < b.wideMost && !Overlap(dst[:len(src)], src) {
		line.Wide(dst, src)
	} else {
		put(dst, src)
	}
}

// ask asks for the line of a signal that answers the same signal of the receiver's, who
// looks at it by now. It comes while src is copied: the processor itself would ask when
// all stores in front of it are done. Two ranks that answer each other after 0 to 48 ns of
// other work, Zen 5, near, ns one way on average, so and without: 8 bytes 46 and 49, 256
// bytes 42 and 51, 4 KiB 54 and 73; with --touch full 256 bytes 63 and 74, 4 KiB 246 and
// 237. A copy that takes longer lasts until the receiver has taken the line back. To ask
// behind the copy gains nothing, and to ask already when the peer's signal has come gains
// 10 % far and loses 20 % near. A stream of puts, which are no answers, does without: it
// would take 2 ns more a message.
func (b *block) ask(to, idx int) {
	r := &b.to[to]
	if in := atomic.LoadUint64(&b.in[to][idx]); in != r.heard[idx] {
		r.heard[idx] = in
		line.TakeLines(&r.line[idx], 1)
	}
}

func (b *block) putRefused(to, off, n, idx int) error {
	err := b.refusal(to, off, n)
	if err == nil {
		err = checkSignal(idx)
	}
	return fmt.Errorf("put to rank %d: %w", to, err)
}

func (b *block) signalRefused(to, idx int) error {
	err := b.usable()
	if err == nil {
		err = b.checkRank(to)
	}
	if err == nil {
		err = checkSignal(idx)
	}
	return fmt.Errorf("signal to rank %d: %w", to, err)
}

// signal stores the count after the data (release) and looks whether the receiver
// sleeps. Where ranks share CPUs, and so sleep often, it passes a full barrier in
// between: of the receiver's going to sleep and this look, one sees the other.
// Where each has its own the barrier would last until both lines have travelled,
// and who is just parking may be missed: for a millisecond, or until this rank's
// next wait, which passes one.
func (b *block) signal(to *receiver, idx int) {
	count := to.sent[idx] + 1
	line.StoreRelease64(&to.line[idx], count) // blind
	to.sent[idx] = count
	failpoint.Hit(failpoint.SignalStored)
	if b.fenced {
		b.team.Ring(to.rank)
		return
	}
	to.bell.Ring()
}

// WaitSignal waits until rank from has counted its signal idx at this rank up to
// atLeast, and returns the count, which may be larger. Counts start at 0 and
// never go back; zero for atLeast is a look without waiting.
//
// An error is local: after a deadline or a cancelled context the wait may be
// repeated, and nothing is lost. What has come has come, even if the world was
// aborted meanwhile. Waits may run in any goroutines, for the same signal too.
// Errors: symmem.ErrTimeout naming from and what it did last, the context's,
// ErrRankFailed, ErrLeft, ErrAborted, ErrUsage, ErrFreed.
func (w *Window[T]) WaitSignal(ctx context.Context, from, idx int, atLeast uint64) (uint64, error) {
	count, err := w.b.await(ctx, from, idx, atLeast)
	if err != nil {
		return count, fmt.Errorf("waiting for signal %d of rank %d: %w", idx, from, err)
	}
	return count, nil
}

func (b *block) await(ctx context.Context, from, idx int, atLeast uint64) (uint64, error) {
	if b.freed.Load() || uint(from) >= uint(len(b.in)) || uint(idx) >= Signals || b.team.Ended() {
		return b.last(from, idx, atLeast)
	}
	word := &b.in[from][idx]
	if count := atomic.LoadUint64(word); count >= atLeast {
		return count, nil
	}
	if !b.fenced {
		// The signal of a rank with a CPU of its own is mostly on its way.
		for range eagerLooks {
			line.Pause()
			if count := atomic.LoadUint64(word); count >= atLeast {
				return count, nil
			}
		}
	}
	x := b.heap.waiters.take(b.team)
	x.come = come{b: b, word: word, from: from, atLeast: atLeast}
	var err error
	if !x.watch.Quick(&x.come) {
		b.team.RingAll()
		what := symmem.Record{Op: symmem.OpWaitSignal, Count: atLeast, Root: from, Digest: uint64(idx)}
		err = x.watch.Wait(ctx, what, &x.come)
	}
	x.come = come{}
	b.heap.waiters.put(x)
	if b.freed.Load() {
		return 0, ErrFreed
	}
	return atomic.LoadUint64(word), err
}

// eagerLooks are as many as a signal takes that is sent at once, two or three
// flights of a line.
const eagerLooks = 200

// last is a wait that must not begin: what has come has come, if it could be
// looked at.
func (b *block) last(from, idx int, atLeast uint64) (count uint64, err error) {
	unusable := b.usable()
	if unusable != nil && (errors.Is(unusable, symmem.ErrClosed) || errors.Is(unusable, symmem.ErrRegion)) {
		return 0, unusable
	}
	err = b.checkRank(from)
	if err == nil {
		err = checkSignal(idx)
	}
	if err != nil {
		return 0, err
	}
	if count := atomic.LoadUint64(&b.in[from][idx]); count >= atLeast {
		return count, nil
	}
	return 0, unusable
}

// come is the condition that a signal has come, or never will because its window
// was freed.
type come struct {
	b       *block
	word    *uint64
	from    int
	atLeast uint64
}

func (c *come) Look() bool { return atomic.LoadUint64(c.word) >= c.atLeast || c.b.freed.Load() }

func (c *come) Missing(into []int) []int {
	if !c.Look() {
		into = append(into, c.from)
	}
	return into
}

// waiter is what one wait under way needs; waiters keeps those that are idle, so
// that a wait allocates nothing, whichever goroutine it is in.
type waiter struct {
	watch *symmem.Watch
	come  come
}

type waiters struct {
	mu   sync.Mutex
	idle []*waiter
}

func (p *waiters) take(team *symmem.Team) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		x := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return x
	}
	return &waiter{watch: symmem.NewWatch(team)}
}

func (p *waiters) put(x *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, x)
}
