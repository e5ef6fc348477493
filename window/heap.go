package window

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/symmem"
)

// heap is the allocator of one rank's window in one world.
type heap struct {
	w *symmem.World

	mu   sync.Mutex // guards ends; held for the search only, never while anybody waits
	ends ends

	// turn is held by the one Alloc or Free under way: a second one could
	// otherwise place in another order than on other ranks. It guards history.
	turn sync.Mutex
	// history is the running hash of all that was allocated and freed. It is
	// part of every call's digest: ranks whose heaps differ are told at once.
	history uint64
	// live is what Find looks at. Changes replace it, so Find needs no lock.
	// Writer: who has the turn.
	live atomic.Pointer[alive]

	waiters waiters
}

// alive is the allocations at one moment.
type alive struct {
	own    []byte   // this rank's window; nil before the first allocation
	blocks []*block // by ascending offset
}

// heapOf is the world's allocator.
func heapOf(w *symmem.World) *heap {
	if h, ok := w.Attached().Load().(*heap); ok {
		return h
	}
	h := &heap{w: w, ends: ends{size: w.Geometry().Window}}
	h.live.Store(new(alive))
	w.Attached().CompareAndSwap(nil, h)
	return w.Attached().Load().(*heap)
}

func errBusy() error {
	return fmt.Errorf("%w: another goroutine is inside an Alloc or Free of this world; they are collective, in one order", symmem.ErrUsage)
}

// alloc is Alloc without its type: first all ranks compare what they call and
// where it would lie, and say whether there is room; then each reserves its
// memory, and they say whether they got it. It is given to all or to none.
func (h *heap) alloc(ctx context.Context, b *block) error {
	if !h.turn.TryLock() {
		return errBusy()
	}
	defer h.turn.Unlock()
	var mine vote
	h.mu.Lock()
	off, fits, have := h.ends.placeHeap(b.taken)
	h.mu.Unlock()
	if b.off = off; !fits {
		mine.short = h.short(b.taken, have)
	}
	team := h.w.Team()
	lane := team.Lane()
	call := b.call(symmem.OpAlloc)
	if err := lane.Enter(ctx, &call); err != nil {
		h.forget(b, fits)
		return err
	}
	short, err := poll(ctx, team, mine)
	reserved := false
	if err == nil && short == nil {
		mine = vote{}
		failpoint.Hit(failpoint.AllocPlaced)
		err = h.w.Reserve(b.off, b.taken)
		reserved = err == nil
		failpoint.Hit(failpoint.AllocReserved)
		if reserved || errors.As(err, &mine.short) {
			short, err = poll(ctx, team, mine)
		}
	}
	switch {
	case err != nil:
		// Other ranks may have seen all votes, and be writing there already:
		// the place stays taken. The world's team is revoked.
		return lane.Leave(err)
	case short != nil:
		if reserved {
			h.zero(b)
		}
		h.forget(b, fits)
		_ = lane.Leave(nil)
		return short
	}
	failpoint.Hit(failpoint.AllocVoted)
	b.attach()
	h.history = digest("alloc", int64(h.history), b.off, b.taken)
	blocks := append(slices.Clone(h.live.Load().blocks), b)
	slices.SortFunc(blocks, func(x, y *block) int { return cmp.Compare(x.off, y.off) })
	h.live.Store(&alive{h.own(), blocks})
	// Put and Signal pass no lane, so Close must never unmap under them, nor
	// under a wait that runs while its window is freed.
	h.w.Hold()
	return lane.Leave(nil)
}

// free is Window.Free without its type.
func (h *heap) free(ctx context.Context, b *block) error {
	if !h.turn.TryLock() {
		return errBusy()
	}
	defer h.turn.Unlock()
	if b.freed.Load() {
		return ErrFreed
	}
	team := h.w.Team()
	lane := team.Lane()
	call := b.call(symmem.OpFree)
	if err := lane.Enter(ctx, &call); err != nil {
		return err
	}
	b.freed.Store(true)
	// The barrier: once all ranks are here, none of them puts anything any more.
	// A rank that is through may allocate this place again at once, since that
	// takes all ranks, and each comes there after its own release.
	if _, err := team.Exchange(ctx, symmem.Post{}); err != nil {
		return lane.Leave(err)
	}
	failpoint.Hit(failpoint.FreeCame)
	h.zero(b)
	h.forget(b, true)
	h.history = digest("free", int64(h.history), b.off, b.taken)
	blocks := slices.DeleteFunc(slices.Clone(h.live.Load().blocks), func(x *block) bool { return x == b })
	h.live.Store(&alive{h.own(), blocks})
	return lane.Leave(nil)
}

// zero gives b's memory in the own window back. It must not fail, since the other
// ranks go on: what the kernel does not take is zeroed by hand, and stays ours.
func (h *heap) zero(b *block) {
	if err := h.w.Release(b.off, b.taken); err != nil {
		clear(h.own()[b.off : b.off+b.taken])
	}
}

// own is this rank's window, for whoever is inside an operation.
func (h *heap) own() []byte { return h.w.Window(h.w.Rank()) }

// forget gives b's place back, if it was taken.
func (h *heap) forget(b *block, taken bool) {
	if !taken {
		return
	}
	h.mu.Lock()
	h.ends.freeHeap(b.off)
	h.mu.Unlock()
}

// takeArea places n bytes at the upper end and reserves their memory. A want of
// space is a *symmem.NoSpaceError; after any error nothing is taken.
func (h *heap) takeArea(n int64) (off int64, err error) {
	h.mu.Lock()
	off, fits, have := h.ends.placeArea(n)
	h.mu.Unlock()
	if !fits {
		return 0, h.short(n, have)
	}
	if err := h.w.Reserve(off, n); err != nil {
		h.mu.Lock()
		h.ends.freeArea(off)
		h.mu.Unlock()
		return 0, err
	}
	return off, nil
}

// giveArea gives the memory back, which zeroes it, and then the place. If the
// first fails the place stays taken: nobody may find anything but zeroes there.
func (h *heap) giveArea(off, n int64) error {
	if err := h.w.Release(off, n); err != nil {
		return err
	}
	h.mu.Lock()
	h.ends.freeArea(off)
	h.mu.Unlock()
	return nil
}

// short is the vote of a rank whose window has no room for need bytes.
func (h *heap) short(need, have int64) *symmem.NoSpaceError {
	return &symmem.NoSpaceError{Rank: h.w.Rank(), Need: need, Have: have, Where: "the window (--window)"}
}
