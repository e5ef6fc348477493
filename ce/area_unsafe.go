package ce

import "unsafe"

// wordsOf sees the flag part of an area as words. Areas are page-aligned.
func wordsOf(b []byte) control {
	return control(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8))
}
