package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// piece is the most that one fallocate reserves. tmpfs undoes the whole call
// when a signal comes, so a call for many GiB might never end.
const piece = 64 << 20

// Reserve makes the kernel find memory for the n bytes at offset off, on the
// NUMA node of the CPU that calls, so that no access to them can end in SIGBUS.
// Reserved bytes read as zero until they are written.
//
// The range must not be reserved yet: when there is no room for all of it, the
// error is a *NoSpaceError and this call gives back what it has reserved, by
// punching a hole where it was. ErrRange: not inside the region.
// A memory cgroup is looked at before: it does not refuse, it kills.
// May be called concurrently for ranges that do not overlap.
func (f *File) Reserve(off, n int64) error {
	if err := inside(f.name, off, n, f.size); err != nil {
		return err
	}
	return f.with(func(fd int) error {
		return f.sparing(fd, n, func() error { return f.reserve(fd, off, n) })
	})
}

func (f *File) reserve(fd int, off, n int64) error {
	done, err := reserve(fd, off, n)
	if err == nil {
		return nil
	}
	if undo := punch(fd, off, done); undo != nil {
		err = errors.Join(err, undo)
	}
	if isNoSpace(err) {
		return noSpace(f.where(), n, err)
	}
	return fmt.Errorf("shm: %s: reserve %d bytes at %d: %w", f.name, n, off, err)
}

// reserve tells how much it has reserved, also beside an error.
func reserve(fd int, off, n int64) (done int64, err error) {
	step := int64(piece)
	// KEEP_SIZE: a file that somebody has truncated stays so, and is found out.
	for done < n {
		step = min(step, n-done)
		switch err := fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off+done, step); {
		case err == nil:
			done += step
		case errors.Is(err, unix.EINTR):
			// Smaller, so that a profiler's signal every few milliseconds slows
			// it down but cannot hold it for ever.
			step = max(step/2, int64(os.Getpagesize()))
		default:
			return done, err
		}
	}
	return done, nil
}

// Release gives the memory of the n bytes at offset off back; they read as zero
// from then on, in every mapping, and are no longer reserved. Pages that lie in
// the range only in part are zeroed there and kept.
// May be called concurrently for ranges that do not overlap.
func (f *File) Release(off, n int64) error {
	if err := inside(f.name, off, n, f.size); err != nil {
		return err
	}
	return f.with(func(fd int) error { return punch(fd, off, n) })
}

// punch makes a hole. It asks for no memory, so a signal never undoes it; but
// it is repeated all the same.
func punch(fd int, off, n int64) error {
	for n > 0 {
		err := fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("shm: release %d bytes at %d: %w", n, off, err)
		}
		return nil
	}
	return nil
}

// fallocate is the system call; a variable, so that tests can send signals
// exactly where they hurt.
var fallocate = unix.Fallocate
