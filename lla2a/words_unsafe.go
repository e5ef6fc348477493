package lla2a

import "unsafe"

// blockOf sees memory of an area as a block. Areas are page-aligned.
func blockOf(b []byte, lines int) block {
	b = b[:16*lines] // checks the length without reading: peers may be writing already
	return block(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), 2*lines))
}

// inCell is the element in the cell at line l, which begins on a cache line.
func inCell[T any](b block, l int) *T {
	cell := b[2*l:]
	_ = cell[(unsafe.Sizeof(*new(T))-1)/wordBytes]
	return (*T)(unsafe.Pointer(unsafe.SliceData(cell)))
}

// word is an element of up to 8 bytes as a word; fromWord is its inverse.
func word[T any](v *T) (w uint64) {
	*(*T)(unsafe.Pointer(&w)) = *v
	return w
}

func fromWord[T any](w uint64) T { return *(*T)(unsafe.Pointer(&w)) }
