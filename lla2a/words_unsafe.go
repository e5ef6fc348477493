package lla2a

import "unsafe"

// blockOf sees memory of an area as a block. Areas are page-aligned.
func blockOf(b []byte, lines int) block {
	b = b[:16*lines] // checks the length without reading: peers may be writing already
	return block(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), 2*lines))
}

// element is the element at line l. It is aligned for every type.
func element[T any](b block, l int) *T {
	words := b[2*l:]
	_ = words[(unsafe.Sizeof(*new(T))-1)/8]
	return (*T)(unsafe.Pointer(unsafe.SliceData(words)))
}

// bytesOf is the memory of an element.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}
