package shm

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Linked tells whether the region's name still leads to it. A hard link that
// somebody else made under another name does not count. False for a memfd.
func (f *File) Linked() (linked bool, err error) {
	if f.path == "" {
		return false, nil
	}
	err = f.with(func(fd int) error {
		linked, err = leadsTo(f.path, fd)
		return err
	})
	return linked, err
}

// Unlink makes sure that the region's name is gone; nil means that it is,
// whoever removed it. Every holder may call it, any number of times and
// concurrently with the others: it finishes what one that died in the middle
// has left, and never removes another region that has got the name since.
// ErrBusy: a process that has the right to unlink is stopped.
func (f *File) Unlink() error {
	f.unlinking.Lock()
	defer f.unlinking.Unlock()
	for begun := time.Now(); ; {
		if linked, err := f.Linked(); err != nil || !linked {
			return err
		}
		phase("named")
		done, err := f.unlinkByRight()
		if done || err != nil {
			return err
		}
		if !again(begun) {
			return fmt.Errorf("shm: %s: unlink: %w", f.path, ErrBusy)
		}
	}
}

// unlinkByRight removes the name if the right to do so is free.
func (f *File) unlinkByRight() (done bool, err error) {
	err = f.with(func(fd int) error {
		ok, err := tryLock(fd, exclusive, unlinkByte)
		if err != nil {
			return fmt.Errorf("shm: %s: lock: %w", f.path, err)
		}
		if !ok {
			return nil
		}
		defer tryLock(fd, none, unlinkByte)
		phase("right")
		done, err = true, unlinkIf(f.path, fd)
		return err
	})
	return done, err
}

// unlinkIf removes path if it means the inode behind fd. The caller has one of
// the two locks that keep all others from changing that meanwhile.
func unlinkIf(path string, fd int) error {
	same, err := leadsTo(path, fd)
	if err != nil || !same {
		return err
	}
	phase("looked")
	if err := unix.Unlink(path); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("shm: %s: unlink: %w", path, err)
	}
	phase("unlinked")
	return nil
}
