package symwin

import "unsafe"

func sizeof[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// overlap reports whether two pieces of memory share a byte.
func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	pa, pb := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return pa < pb+uintptr(len(b)) && pb < pa+uintptr(len(a))
}
