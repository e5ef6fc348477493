package lla2a

import "unsafe"

var _ [slotLine]byte = [unsafe.Sizeof(slotHead{})]byte{}

// slotsOf sees memory of an area as slots. Areas are page-aligned.
func slotsOf(b []byte) slots {
	return slots{lines: unsafe.Slice((*slotHead)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/slotLine), bytes: b}
}

// wordsOf sees memory that begins at a multiple of eight bytes as words.
func wordsOf(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}
