package window

import (
	"fmt"

	"github.com/symwin/symwin/internal/shm"
)

// Put copies src to the elements of rank to from off on. When it returns src may
// be used again, and the data is on its way: `to` sees all of it once it has seen
// a later signal of this goroutine (PutSignal does both), or after a later
// barrier or collective of both.
//
// Nobody is woken: nothing can wait for plain elements.
//
// The first one of 32 KiB or more finds out how this processor copies best, for some
// hundred µs; the first of megabytes, for some milliseconds (not on Zen 5, where that is
// known).
//
// Errors, before anything is stored: symmem.ErrUsage for a place that does not
// lie in the window, ErrFreed, and why the world cannot be used any more.
func (w *Window[T]) Put(to, off int, src []T) error {
	dst, err := w.b.reach(to, off, len(src))
	if err != nil {
		return fmt.Errorf("put to rank %d: %w", to, err)
	}
	put(dst, Raw(src))
	return nil
}

// Get copies the elements of rank from, from off on, to dst. It reads what is
// there; whether that is what it should be, a signal or a barrier has told
// before. Errors as those of Put.
func (w *Window[T]) Get(from, off int, dst []T) error {
	src, err := w.b.reach(from, off, len(dst))
	if err != nil {
		return fmt.Errorf("get from rank %d: %w", from, err)
	}
	put(Raw(dst), src)
	return nil
}

// Populate makes the pages of rank r's elements present in this process, so that
// its first write to each does not cost the microsecond which the kernel takes to
// map 4 KiB. It changes no element. Memory is reserved all the same without it;
// benchmarks and latency-bound programs call it for every rank they put to.
// May be called concurrently with anything but Free. Errors as those of Put.
func (w *Window[T]) Populate(r int) error {
	b, err := w.b.reach(r, 0, w.b.n)
	if err == nil {
		err = shm.Populate(b)
	}
	if err != nil {
		return fmt.Errorf("populating the window of rank %d: %w", r, err)
	}
	return nil
}
