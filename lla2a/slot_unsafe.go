package lla2a

import "unsafe"

// slotsOf sees memory of an area as slots. Areas are page-aligned, and the plan
// of Blocks is a multiple of eight bytes.
func slotsOf(b []byte) slots {
	return slots{words: unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8), bytes: b}
}
