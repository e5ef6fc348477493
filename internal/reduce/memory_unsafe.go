package reduce

import "unsafe"

// overlapAskew tells whether a and b, equally long, share bytes and yet start at
// different ones.
func overlapAskew(a, b []byte) bool {
	x, y := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return x != y && max(x, y)-min(x, y) < uintptr(len(a))
}

// aligned tells whether b starts where an element of size bytes, a power of two,
// may start.
func aligned(b []byte, size int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))&uintptr(size-1) == 0
}

// elements is b, aligned for T, as elements.
func elements[T Number](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// blockBytes is how much of the result foldInGo carries through all parts. Twice as
// much is 5 % faster on long parts, but clearing it costs more than a short call.
const blockBytes = 512

// block is scratch memory, aligned for every kind.
type block [blockBytes / 8]uint64

// bytes are the first n bytes of the block.
func (b *block) bytes(n int) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(b)), blockBytes)[:n] }
