package window

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/symwin/symwin/symmem"
)

// Span is a place in everybody's window: the same bytes of one allocation, on
// whichever rank. Window.At and Find make them, the copy engine puts into them.
//
// It is a value, and carries the error of a bad At with it, so that At can stand
// in an argument list; whoever uses the Span returns that error. The zero Span
// is an error too.
type Span struct {
	b    *block
	off  int64 // from the beginning of the allocation
	size int64
	err  error
}

// Err is what is wrong with the place, or nil: ErrUsage for one that was outside
// its window. Freed windows are told by On.
func (s Span) Err() error {
	if s.b == nil && s.err == nil {
		return fmt.Errorf("%w: the zero Span is no place", symmem.ErrUsage)
	}
	return s.err
}

// Bytes is the length of the place in bytes.
func (s Span) Bytes() int64 { return s.size }

// Offset is where the place begins, in bytes from the beginning of any rank's
// window: what one rank may tell another, who checks it with Bytes.
func (s Span) Offset() int64 {
	if s.b == nil {
		return 0
	}
	return s.b.off + s.off
}

// On is the place's memory in the window of world rank rank of w. Errors:
// Err's; ErrUsage for another world or no such rank; ErrFreed.
func (s Span) On(w *symmem.World, rank int) ([]byte, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	if w != s.b.heap.w {
		return nil, fmt.Errorf("%w: the place lies in a window of another world", symmem.ErrUsage)
	}
	if err := s.b.checkRank(rank); err != nil {
		return nil, err
	}
	if s.b.freed.Load() {
		return nil, ErrFreed
	}
	return s.b.data[rank][s.off : s.off+s.size : s.off+s.size], nil
}

// Bytes is the n bytes at offset off of the window of world rank rank, where all
// numbers may come from a peer: ErrRegion unless the bytes lie inside. It does
// not know which allocation they belong to. The bounds never change, so it may
// be called from any goroutine, inside an operation or while World.Hold is held.
func Bytes(w *symmem.World, rank int, off, n uint64) ([]byte, error) {
	if rank < 0 || rank >= w.Size() {
		return nil, fmt.Errorf("%w: there is no rank %d among %d", symmem.ErrRegion, rank, w.Size())
	}
	// n is compared with what is left, so no sum can overflow.
	all := w.Window(rank)
	size := uint64(len(all))
	if off > size || n > size-off {
		return nil, fmt.Errorf("%w: %d bytes at offset %d of rank %d's window, which has %d", symmem.ErrRegion, n, off, rank, size)
	}
	return all[off : off+n : off+n], nil
}

// Find reports whether all of s lies in one allocation of this rank's own window
// in w, and where: then its peers have memory of the same kind at the same
// place, and may write to this one directly. An empty s lies nowhere. For memory
// outside the region it costs one comparison of addresses, otherwise a binary
// search; it takes no lock and may be called from any goroutine.
func Find[T any](w *symmem.World, s []T) (Span, bool) {
	live := heapOf(w).live.Load()
	raw := Raw(s)
	off, ok := offsetIn(live.own, raw)
	if !ok {
		return Span{}, false
	}
	i, exact := slices.BinarySearchFunc(live.blocks, off, func(b *block, off int64) int { return cmp.Compare(b.off, off) })
	if !exact {
		i-- // the last one that begins below off
	}
	if i < 0 {
		return Span{}, false
	}
	b, size := live.blocks[i], int64(len(raw))
	if at := off - b.off; at <= b.size && size <= b.size-at {
		return Span{b: b, off: at, size: size}, true
	}
	return Span{}, false
}

// Finder is Find for whoever asks for many places that mostly lie in one
// allocation: it looks there first. One goroutine at a time.
type Finder struct {
	h    *heap
	live *alive
	last *block
}

// NewFinder makes one for this rank's window in w.
func NewFinder(w *symmem.World) *Finder { return &Finder{h: heapOf(w)} }

// Find is where b begins in the own window, in bytes from its beginning, if all
// of it lies in one allocation.
func (f *Finder) Find(b []byte) (off uint64, ok bool) {
	live := f.h.live.Load()
	at, inside := offsetIn(live.own, b)
	if !inside {
		return 0, false
	}
	if live != f.live { // an allocation has come or gone
		f.live, f.last = live, nil
	}
	if f.last == nil || !f.last.holds(at, int64(len(b))) {
		s, ok := Find(f.h.w, b)
		if !ok {
			return 0, false
		}
		f.last = s.b
	}
	return uint64(at), true
}

// holds reports whether n bytes from offset at of the window on are b's data.
func (b *block) holds(at, n int64) bool {
	at -= b.off
	return at >= 0 && at <= b.size && n <= b.size-at
}
