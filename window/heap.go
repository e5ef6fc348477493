package window

import (
	"sync"

	"github.com/symwin/symwin/symmem"
)

// heap is the allocator of one rank's window in one world.
type heap struct {
	w *symmem.World

	mu   sync.Mutex // guards ends; held for the search only, never while anybody waits
	ends ends
}

type heapKey struct{}

// heapOf is the world's allocator.
func heapOf(w *symmem.World) *heap {
	return w.Attachment(heapKey{}, func() any {
		return &heap{w: w, ends: ends{size: w.Geometry().Window}}
	}).(*heap)
}

// short is the vote of a rank whose window has no room for need bytes.
func (h *heap) short(need, have int64) *symmem.NoSpaceError {
	return &symmem.NoSpaceError{Rank: h.w.Rank(), Need: need, Have: have, Where: "the window (--window)"}
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
