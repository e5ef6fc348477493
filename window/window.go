package window

import (
	"context"
	"fmt"

	"github.com/symwin/symwin/symmem"
)

// Window is an array of n elements in every rank's window, at the same place.
// Each rank owns its own (Local) and reaches everybody's (Peer, Put, Get). Ranks
// in arguments are world ranks.
//
// All methods but Free may be called from any goroutine, with one reservation:
// Signal and PutSignal for one receiver and index from one goroutine at a time.
// Which elements are read and written when is the program's affair: a Barrier, a
// signal, or the end of a collective says that what came before it is there.
//
// Calls on a freed window return ErrFreed, on a closed world symmem.ErrClosed;
// what is then in flight in other goroutines is over before memory is used anew
// only if the program has waited for it before Free.
type Window[T any] struct{ b *block }

// Alloc makes a window of n elements on every rank. It is collective over the
// world, an operation of its team, and all allocations and frees come in one
// order; n may be zero, for a window of signals alone.
//
// Local memory is zero, begins on a page and is reserved, so touching it cannot
// fail for want of memory. T is free of pointers, else a *TypeError.
//
// Errors: ErrUsage, locally, before anything is stored. If any rank has no room
// or no memory, all ranks return the same *symmem.NoSpaceError, which names it,
// nothing is allocated, and the world goes on. Ranks that ask for different
// types or lengths, or whose heaps differ, get symmem.ErrMismatch naming the odd
// one; that and the failure of a rank end the world's team.
func Alloc[T any](ctx context.Context, w *symmem.World, n int) (*Window[T], error) {
	k := kindFor[T]()
	if k.err != nil {
		return nil, fmt.Errorf("alloc: %w", k.err)
	}
	if n < 0 || int64(n) > tooLarge/max(k.size, 1) {
		return nil, fmt.Errorf("alloc: %w: %d elements of %d bytes", symmem.ErrUsage, n, k.size)
	}
	h := heapOf(w)
	b := newBlock(h, k, n)
	if err := h.alloc(ctx, b); err != nil {
		return nil, fmt.Errorf("alloc of %d %s: %w", n, k.name, err)
	}
	return &Window[T]{b}, nil
}

// Free gives the window back on all ranks. It is collective over the world, as
// Alloc is, and returns when every rank has called it. Slices of it that are
// still about stay mapped but belong to nobody: their contents change.
func (w *Window[T]) Free(ctx context.Context) error {
	if err := w.b.heap.free(ctx, w.b); err != nil {
		return fmt.Errorf("free of %d %s: %w", w.b.n, w.b.kind.name, err)
	}
	return nil
}

// Len is the number of elements, the same on every rank.
func (w *Window[T]) Len() int { return w.b.n }

// Local is the own elements: plain memory, which peers write to; nil once freed.
func (w *Window[T]) Local() []T { return w.Peer(w.b.heap.w.Rank()) }

// Peer is the elements of world rank r, as an index panics if there is none: its
// memory itself, no copy. To read it costs what it costs to take cache lines
// from another core. It is nil once the window is freed.
//
// Once Local or Peer was called, World.Close leaves the region mapped.
func (w *Window[T]) Peer(r int) []T {
	b := w.b
	data := b.data[r]
	if b.freed.Load() {
		return nil
	}
	if !b.handed.Load() && b.handed.CompareAndSwap(false, true) {
		b.heap.w.Hold()
	}
	return Typed[T](data, b.n)
}

// At is the place of n elements from off on, in every rank's window. A place
// outside the window is told by whoever uses the Span.
func (w *Window[T]) At(off, n int) Span { return w.b.span(off, n) }
