package window

import "unsafe"

// SizeOf is the size of a T in bytes.
func SizeOf[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// Raw is the memory of s as bytes. T is free of pointers (CheckType).
func Raw[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*SizeOf[T]())
}

// Typed is n elements over b, which begins on a page: aligned for every type.
// Its length was computed from n.
func Typed[T any](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// signalLine is the counters that one sender has in one receiver's window.
type signalLine [Signals]uint64

// signalLines lays n lines over b, which begins on a line.
func signalLines(b []byte, n int) []signalLine {
	_ = b[:n*lineBytes]
	return unsafe.Slice((*signalLine)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

var _ [lineBytes]byte = [unsafe.Sizeof(signalLine{})]byte{}

// offsetIn reports where in own, whose memory does not move, b begins. Only
// addresses are compared: one comparison for memory that lies elsewhere, since a
// difference below zero is a large number.
func offsetIn(own, b []byte) (int64, bool) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(own)))
	return int64(at), at < uintptr(len(own)) && len(b) > 0
}

// Overlap reports whether a and b share a byte.
func Overlap(a, b []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(a)))
	return (at < uintptr(len(a)) || -at < uintptr(len(b))) && len(a) > 0 && len(b) > 0
}
