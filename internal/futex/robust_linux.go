package futex

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// robustList is struct robust_list_head with room for its one entry. The list
// is circular: an empty one points at itself.
type robustList struct {
	head    uintptr // address of the first entry, or of head itself
	offset  uintptr // from an entry to its futex word
	pending uintptr
	entry   uintptr // our one entry: points back at head
}

// Robust is one armed robust-list entry of the thread that called Arm.
type Robust struct {
	page []byte // private page outside the Go heap: the kernel reads it when the thread is gone
	list *robustList
	word *uint32
}

// Arm makes the calling thread the owner of *word: it links one robust-list
// entry, registers the list with the kernel and then claims the word by
// compare-and-swap from 0 to tid|Waiters. From that moment on the end of the
// thread, however it comes, makes the kernel write OwnerDied into the word and
// wake one sleeper, before it frees the process's memory.
//
// The caller has locked the goroutine to its thread and stays so until Disarm.
// Waiters is set from the start and never cleared: without it the kernel wakes
// nobody. Errors: ErrPlaceTaken, or the system call's when robust lists are
// refused (a seccomp filter, an emulator).
func Arm(word *uint32) (*Robust, error) {
	page, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("futex: a page for the robust list: %w", err)
	}
	l := (*robustList)(unsafe.Pointer(&page[0]))
	r := &Robust{page: page, list: l, word: word}
	self := uintptr(unsafe.Pointer(&l.head))
	entry := uintptr(unsafe.Pointer(&l.entry))
	l.offset = uintptr(unsafe.Pointer(word)) - entry
	l.entry = self
	l.head = entry
	if err := register(l); err != nil {
		_ = unix.Munmap(page)
		return nil, err
	}
	if !atomic.CompareAndSwapUint32(word, 0, uint32(unix.Gettid())|Waiters) {
		r.Disarm()
		return nil, ErrPlaceTaken
	}
	return r, nil
}

// Disarm empties the list and takes it away from the kernel, on the thread that
// armed it. The word keeps whatever the caller left in it; only after Disarm may
// the memory of the word be unmapped, since an entry left behind makes the
// kernel write into whatever is mapped there when the thread ends.
func (r *Robust) Disarm() {
	l := r.list
	l.head = uintptr(unsafe.Pointer(&l.head))
	_, _, _ = unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, 0, unsafe.Sizeof(uintptr(0))*3, 0)
	_ = unix.Munmap(r.page)
	r.page, r.list = nil, nil
}

func register(l *robustList) error {
	// The kernel insists on the length of its own head structure: three words.
	_, _, errno := unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, uintptr(unsafe.Pointer(l)), unsafe.Sizeof(uintptr(0))*3, 0)
	if errno != 0 {
		return fmt.Errorf("futex: set_robust_list: %w", errno)
	}
	return nil
}

// Tid is the calling thread's id.
func Tid() int { return unix.Gettid() }
