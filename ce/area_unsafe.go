package ce

import "unsafe"

// wordsOf sees an area as words. Areas are page-aligned.
func wordsOf(b []byte) area {
	return area(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8))
}

// words sees r as it lies in memory.
func (r *ready) words() *[8]uint64 { return (*[8]uint64)(unsafe.Pointer(r)) }

var _ [8 * 8]byte = [unsafe.Sizeof(ready{})]byte{}

// sameStart reports whether two slices begin at one address.
func sameStart(a, b []byte) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) }

// addressOf is where b begins, as another process has to name it. What is told to
// a peer stays reachable, and does not move, until the peer has read it (reach.go).
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// bytesOf sees a word as bytes.
func bytesOf(w *uint64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(w)), 8) }
