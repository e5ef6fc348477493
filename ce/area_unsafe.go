package ce

import "unsafe"

// wordsOf sees an area as words. Areas are page-aligned.
func wordsOf(b []byte) area {
	return area(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8))
}

// sameStart reports whether two slices begin at one address.
func sameStart(a, b []byte) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) }
