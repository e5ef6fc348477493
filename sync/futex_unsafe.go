package shmsync

import (
	"sync/atomic"
	"unsafe"
)

// wordOf is the futex word behind an atomic value: atomic.Uint32 is a uint32
// and nothing else.
func wordOf(a *atomic.Uint32) *uint32 { return (*uint32)(unsafe.Pointer(a)) }
