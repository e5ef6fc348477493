package ce

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// reachable: there is a system call that reads another process's memory.
const reachable = true

// readProcess reads memory of the process that a thread belongs to, at an address
// there, into dst, which is not empty; perhaps less of it.
//
// It is a copy of at most reachChunk, and like one it does not tell the runtime,
// which would take the P away from behind it every 20 µs.
func readProcess(thread int, dst []byte, at uint64) (int, error) {
	here := unix.Iovec{Base: unsafe.SliceData(dst)}
	here.SetLen(len(dst))
	there := unix.RemoteIovec{Base: uintptr(at), Len: len(dst)}
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(thread),
			uintptr(unsafe.Pointer(&here)), 1, uintptr(unsafe.Pointer(&there)), 1, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
			continue
		}
		return 0, errno
	}
}

// noMemory reports whether the memory of one of both is not there.
func noMemory(err error) bool { return err == unix.EFAULT }

// noProcess reports whether the thread, or its memory, has ended.
func noProcess(err error) bool { return err == unix.ESRCH }
