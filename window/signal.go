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
	err := w.b.mayPut(to, idx)
	if err != nil {
		return fmt.Errorf("signal to rank %d: %w", to, err)
	}
	w.b.signal(to, idx)
	return nil
}

// PutSignal is Put and then Signal: rank to, having waited for the count, sees
// all of src. Nothing is stored if either is refused.
func (w *Window[T]) PutSignal(to, off int, src []T, idx int) error {
	dst, err := w.b.reach(to, off, len(src))
	if err == nil {
		err = checkSignal(idx)
	}
	if err != nil {
		return fmt.Errorf("put to rank %d: %w", to, err)
	}
	put(dst, Raw(src))
	w.b.signal(to, idx)
	return nil
}

func (b *block) mayPut(to, idx int) error {
	err := b.usable()
	if err == nil {
		err = b.checkRank(to)
	}
	if err == nil {
		err = checkSignal(idx)
	}
	return err
}

// signal stores the count after the data (release), then passes a full barrier,
// and only then looks whether the receiver sleeps: of its going to sleep and this
// look, one sees the other.
func (b *block) signal(to, idx int) {
	b.sent[to][idx]++
	line.StoreRelease64(&b.out[to][idx], b.sent[to][idx])
	failpoint.Hit(failpoint.SignalStored)
	b.heap.w.Team().Ring(to)
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
	unusable := b.usable()
	if unusable != nil && errors.Is(unusable, symmem.ErrClosed) {
		return 0, unusable
	}
	err := b.checkRank(from)
	if err == nil {
		err = checkSignal(idx)
	}
	if err != nil {
		return 0, err
	}
	word := &b.in[from][idx]
	if count := atomic.LoadUint64(word); count >= atLeast {
		return count, nil
	}
	if unusable != nil {
		return 0, unusable
	}
	x := b.heap.waiters.take(b.heap.w.Team())
	x.come = come{b: b, word: word, from: from, atLeast: atLeast}
	what := symmem.Record{Op: symmem.OpWaitSignal, Count: atLeast, Root: from, Digest: uint64(idx)}
	err = x.watch.Wait(ctx, what, &x.come)
	x.come = come{}
	b.heap.waiters.put(x)
	if b.freed.Load() {
		return 0, ErrFreed
	}
	return atomic.LoadUint64(word), err
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
