package shm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Create makes a region of size bytes that reads as zero, lets init write its
// header, and only then gives it its name, symwin-<uid>-<job> (see Name), in
// Dir: nobody ever sees a half-made one, and a death at any moment leaves
// nothing or a whole region that the next Sweep removes. The file is sparse; see
// File.Reserve.
//
// Where a live region has the name the error is ErrExist; a dead one is swept
// first. What is no region of this user is a *ForeignError. Should the name be
// removed, by a peer that has attached and given up, before Create returns, it
// begins again: init, which may be nil, must be ready to be called twice.
//
// May be called concurrently, by any number of processes: one creates.
func Create(name string, size int64, init func(w io.WriterAt) error) (*File, error) {
	path, err := locate(name)
	if err != nil {
		return nil, err
	}
	if err := sizeAllowed(name, size); err != nil {
		return nil, err
	}
	for {
		f, err := bear(path, size, init)
		if f != nil || err != nil {
			return f, err
		}
	}
}

// bear makes one region and gives it its name; neither a File nor an error
// means that the name was taken away again before it could be opened by it.
func bear(path string, size int64, init func(w io.WriterAt) error) (*File, error) {
	dir := filepath.Dir(path)
	// Never O_EXCL: here it would mean "never to be linked".
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, noTmpfile(dir, err)
	}
	unnamed := os.NewFile(uintptr(fd), path)
	defer unnamed.Close()
	phase("unnamed")

	// Before the name, so that no sweep ever finds this region unheld.
	if err := share(fd); err != nil {
		return nil, fmt.Errorf("shm: %s: lock of a new file: %w", path, err)
	}
	phase("locked")
	if err := shape(fd, path, size); err != nil {
		return nil, err
	}
	phase("sized")
	if init != nil {
		if err := init(&header{file: unnamed, dir: dir, size: size}); err != nil {
			return nil, fmt.Errorf("shm: %s: header: %w", path, err)
		}
	}
	phase("written")
	if err := link(fd, path); err != nil {
		return nil, err
	}
	phase("linked")

	// A linked O_TMPFILE reads "#123 (deleted)" in /proc for ever; opened by its
	// name it can be found by it. The first description keeps the region held
	// until the second one does.
	f, err := open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	phase("reopened")
	if held, err := f.hold(); err != nil || !held {
		f.Close()
		return nil, err
	}
	phase("held")
	if same, err := sameFile(fd, int(f.file.Fd())); err != nil || !same {
		f.Close()
		return nil, err
	}
	return f, nil
}

// shape gives the new file its exact mode, whatever the umask, and its size.
func shape(fd int, path string, size int64) error {
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return fmt.Errorf("shm: %s: mode 0600: %w", path, err)
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		return fmt.Errorf("shm: %s: size %s: %w", path, inUnits(size), err)
	}
	return nil
}

// link shows the unnamed file under its name, in one step. A dead region that
// has the name is swept; what is alive or foreign is an error.
func link(fd int, path string) error {
	for begun := time.Now(); ; {
		// Through /proc, because AT_EMPTY_PATH needs a capability.
		err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case isNoSpace(err):
			return noSpace(filepath.Dir(path), int64(os.Getpagesize()), err)
		case !errors.Is(err, unix.EEXIST):
			return fmt.Errorf("shm: %s: link by /proc/self/fd (is there a /proc? mount -t proc proc /proc): %w", path, err)
		}
		switch end, err := sweep(path); {
		case err != nil:
			return err
		case end == swept || end == gone:
			continue
		case end == alive:
			return fmt.Errorf("shm: %s: a live job has this name, end it or choose another job key: %w", path, ErrExist)
		}
		if !again(begun) { // another process is sweeping it
			return fmt.Errorf("shm: %s: sweep of a dead region: %w", path, ErrBusy)
		}
	}
}

// sizeAllowed refuses what ftruncate would, and a size above the limit of
// `ulimit -f`, which the kernel answers with a deadly SIGXFSZ.
func sizeAllowed(name string, size int64) error {
	var limit unix.Rlimit
	if size <= 0 {
		return fmt.Errorf("shm: %s: a region of %d bytes: must be more than 0", name, size)
	}
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && uint64(size) > limit.Cur {
		return fmt.Errorf("shm: %s: a region of %s is above the file size limit of %s: ulimit -f unlimited, or a smaller window: %w",
			name, inUnits(size), inUnits(int64(limit.Cur)), unix.EFBIG)
	}
	return nil
}

// noTmpfile says why no unnamed file could be made in dir.
func noTmpfile(dir string, err error) error {
	switch {
	case isNoSpace(err):
		return noSpace(dir, int64(os.Getpagesize()), err)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("shm: the filesystem of %s has no unnamed files (O_TMPFILE): set SYMWIN_SHM_DIR to a directory on tmpfs: %w: %w", dir, errors.ErrUnsupported, err)
	case errors.Is(err, unix.EROFS):
		return fmt.Errorf("shm: %s is read-only, so no job can be started: mount -o remount,rw %s (docker, podman: --tmpfs %s), or set SYMWIN_SHM_DIR to a directory on a tmpfs that can be written to: %w", dir, dir, dir, err)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("shm: this user may not write to %s, so no job can be started: chmod 1777 %s, or set SYMWIN_SHM_DIR to a directory on a tmpfs that can be written to: %w", dir, dir, err)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return noDirectory(dir, err)
	}
	return fmt.Errorf("shm: %s: new file: %w", dir, err)
}

func noDirectory(dir string, err error) error {
	return fmt.Errorf("shm: %s is no directory: mount a tmpfs there, or set SYMWIN_SHM_DIR to a directory on one: %w", dir, err)
}

// header is what Create's init writes through: never beyond the size, which
// would make the file grow.
type header struct {
	file *os.File
	dir  string
	size int64
}

func (h *header) WriteAt(p []byte, off int64) (int, error) {
	if err := inside(h.file.Name(), off, int64(len(p)), h.size); err != nil {
		return 0, err
	}
	n, err := h.file.WriteAt(p, off)
	if isNoSpace(err) {
		err = noSpace(h.dir, int64(len(p)), err)
	}
	return n, err
}

// phase is called between the steps of birth, attach, unlink and sweep. Tests
// put a function here that dies, or waits, at the step it is told.
var phase = func(string) {}
