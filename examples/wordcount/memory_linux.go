package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// newSlots makes the slots of a table and asks for huge pages for them: they are
// touched all over, and every small page would have to be found first.
func newSlots(n int) []entry {
	s := make([]entry, n)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), uintptr(n)*unsafe.Sizeof(entry{}))
	if len(b) >= 4<<20 {
		page := uintptr(unix.Getpagesize())
		b = b[-uintptr(unsafe.Pointer(&b[0]))&(page-1):]
		unix.Madvise(b[:uintptr(len(b))&^(page-1)], unix.MADV_HUGEPAGE) // or not: it is only faster
	}
	return s
}
