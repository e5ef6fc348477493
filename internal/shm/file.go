package shm

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// File is an open region with this process's own file description, and with
// the shared lock on byte 0 that says "held" for as long as it is open.
//
// All methods may be called concurrently. Close while another method runs lets
// that method end first or fail with os.ErrClosed. Mappings outlive Close, but
// a process keeps its File to the end: the lock keeps others from taking the
// region for dead, and tools find it by the descriptor.
type File struct {
	file *os.File
	size int64
	name string // without the directory; a memfd has one too, which leads nowhere
	path string // "" where there is no name to unlink (memfd)

	sharers atomic.Int64 // see ShareWith

	// Two goroutines share one description, so the locks on bytes 1 and 2 do not
	// keep them apart.
	unlinking, reserving sync.Mutex
}

// Size is the length of the region in bytes as it was when it was opened.
func (f *File) Size() int64 { return f.size }

// Name is the region's name in Dir.
func (f *File) Name() string { return f.name }

// ShareWith says how many processes reserve memory of the region, often at the
// same time: what decides whether a memory cgroup is tight.
func (f *File) ShareWith(processes int) { f.sharers.Store(int64(processes)) }

// Fd is the descriptor, for a header that tells peers where to look (see
// AttachPid); -1 after Close. The File keeps it: do not close it.
func (f *File) Fd() int { return int(f.file.Fd()) }

// Inode tells this region from every other one of the machine that lives now.
func (f *File) Inode() (ino uint64, err error) {
	info, err := f.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("shm: %s: %w", f.name, err)
	}
	return inode(info), nil
}

// Close gives up the lock and the descriptor. The name, if it is still there,
// stays: see Unlink. A second Close does nothing.
func (f *File) Close() error {
	if err := f.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("shm: %s: %w", f.name, err)
	}
	return nil
}

// with runs do on the descriptor, which no Close takes away meanwhile.
func (f *File) with(do func(fd int) error) error {
	conn, err := f.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("shm: %s: %w", f.name, err)
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return fmt.Errorf("shm: %s: %w", f.name, os.ErrClosed)
	}
	return inner
}
