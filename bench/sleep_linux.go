package bench

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleep is a bare FUTEX_WAIT: what the kernel takes for a hand-off, without the
// tenth that the runtime adds by giving the P away and taking it back
// (futex.Wait). It is not for programs: as long as it sleeps, the P stands still.
func sleep(word *uint32, value uint32) {
	const wait = 0 // FUTEX_WAIT
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), wait, uintptr(value), 0, 0, 0)
}
