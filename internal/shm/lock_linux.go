package shm

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// The locked bytes. Locks are advisory and say nothing about the bytes'
// contents.
const (
	heldByte   = 0 // shared: the region is in use; exclusive: it is dead and being swept
	unlinkByte = 1 // exclusive: the right to unlink a region in use

	reserveByte = 2 // exclusive: the right to reserve where memory is tight
)

const (
	shared    = unix.F_RDLCK
	exclusive = unix.F_WRLCK
	none      = unix.F_UNLCK
)

// tryLock takes one byte's lock on the description behind fd, or says that
// somebody has it. OFD locks: they end with the description, not, as POSIX
// locks do, with any close in the process.
func tryLock(fd int, kind int16, at int64) (bool, error) {
	lock := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: at, Len: 1}
	err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

// share holds a region that nobody can be sweeping, because it has no name.
func share(fd int) error {
	held, err := tryLock(fd, shared, heldByte)
	if err == nil && !held {
		err = ErrBusy
	}
	return err
}

// patience bounds the waits for locks that are held for a few system calls.
// The kernel's own wait (F_OFD_SETLKW) has no bound, and a process stopped
// between lock and unlink would hold everyone; far above any scheduling delay.
const patience = 10 * time.Second

// again sleeps before the next look at a lock, and says no when patience is at
// its end. Polling, because what is waited for is mostly not the lock but that
// the name is gone, which ends the wait of all at once.
func again(since time.Time) bool {
	time.Sleep(time.Millisecond)
	return time.Since(since) < patience
}
