package window

import (
	"fmt"

	"github.com/symwin/symwin/symmem"
)

// Resolve is the n bytes at offset off of the window of world rank rank, where
// both numbers may come from a peer: ErrRegion unless the bytes lie inside. It
// does not know which allocation they belong to. The bounds do not change while
// a world lives, so it may be called from any goroutine of an operation.
func Resolve(w *symmem.World, rank int, off, n int64) ([]byte, error) {
	if rank < 0 || rank >= w.Size() {
		return nil, fmt.Errorf("%w: there is no rank %d among %d", symmem.ErrRegion, rank, w.Size())
	}
	// n is compared with what is left, so no sum can overflow.
	size := w.Geometry().Window
	if off < 0 || n < 0 || off > size || n > size-off {
		return nil, fmt.Errorf("%w: %d bytes at offset %d of rank %d's window, which has %d", symmem.ErrRegion, n, off, rank, size)
	}
	return w.Window(rank)[off : off+n : off+n], nil
}
