package lla2a

import "unsafe"

// blockOf sees memory of an area as a block. Areas are page-aligned.
func blockOf(b []byte, lines int) block {
	b = b[:16*lines] // checks the length without reading: peers may be writing already
	return block(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), 2*lines))
}

// bytesOf sees a value as its bytes, for copying in and out; T is free of
// pointers (Open has checked it).
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// data is the part of a wide line that carries an element.
func (w *wideLine) data() *[wideBytes]byte { return (*[wideBytes]byte)(unsafe.Pointer(w)) }
