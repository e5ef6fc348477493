package shm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Attach opens the region that has the name in Dir and holds it. The name was
// there at a moment when this process held the region already, so no sweep can
// have taken it for dead.
//
// Errors: fs.ErrNotExist, where nothing has the name; *ForeignError, where
// something else than a region of this user has it; ErrBusy. Contents are the
// caller's to check. May be called concurrently.
func Attach(name string) (*File, error) {
	path, err := locate(name)
	if err != nil {
		return nil, err
	}
	for begun := time.Now(); ; {
		f, err := open(path)
		if err != nil {
			return nil, err
		}
		phase("opened")
		held, err := f.hold()
		if held && err == nil {
			phase("attached")
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
		// Swept, or unlinked, between open and lock: what has the name now?
		if !again(begun) {
			return nil, fmt.Errorf("shm: %s: attach: %w", path, ErrBusy)
		}
	}
}

// open opens and checks what has the name; it is not held yet. NONBLOCK and
// NOFOLLOW, because anybody may put anything under a name in /dev/shm.
func open(path string) (*File, error) {
	fd, err := openFile(path, unix.O_NOFOLLOW)
	if err != nil {
		return nil, refused(path, err)
	}
	f, err := adopt(fd, path)
	if err != nil {
		return nil, err
	}
	if f.size == 0 {
		f.Close()
		return nil, &ForeignError{path, "it is empty"}
	}
	f.path = path
	return f, nil
}

// refused looks from outside at what cannot be opened, to name what is wrong.
func refused(path string, err error) error {
	var st unix.Stat_t
	if unix.Fstatat(unix.AT_FDCWD, path, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		if foreign := judge(path, &st); foreign != nil {
			return foreign
		}
	} else if _, e := os.Stat(filepath.Dir(path)); errors.Is(e, fs.ErrNotExist) {
		return fmt.Errorf("shm: the directory %s does not exist: mount a tmpfs there or set SYMWIN_SHM_DIR: %w", filepath.Dir(path), err)
	}
	return fmt.Errorf("shm: %s: open: %w", path, err)
}

func openFile(path string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(path, flags|unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// adopt makes a File of a descriptor, after the checks; it closes what fails
// them.
func adopt(fd int, path string) (*File, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil {
		err = unix.SetNonblock(fd, false) // it served the open only
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("shm: %s: %w", path, err)
	}
	if foreign := judge(path, &st); foreign != nil {
		unix.Close(fd)
		return nil, foreign
	}
	return &File{file: os.NewFile(uintptr(fd), path), size: st.Size, name: filepath.Base(path)}, nil
}

// judge tells what makes st no region of this user, or nil.
func judge(path string, st *unix.Stat_t) error {
	types := map[uint32]string{
		unix.S_IFLNK: "a symbolic link", unix.S_IFDIR: "a directory", unix.S_IFIFO: "a fifo",
		unix.S_IFSOCK: "a socket", unix.S_IFCHR: "a device", unix.S_IFBLK: "a device",
	}
	switch uid, mode := uint32(os.Geteuid()), st.Mode&0o7777; {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return &ForeignError{path, "it is " + types[st.Mode&unix.S_IFMT]}
	case st.Uid != uid:
		return &ForeignError{path, fmt.Sprintf("it is owned by uid %d, not %d", st.Uid, uid)}
	case mode != 0o600:
		return &ForeignError{path, fmt.Sprintf("its mode is %#o, not 0600", mode)}
	}
	return nil
}

// hold takes the shared lock on byte 0 and then makes sure that the name still
// leads here. In this order: once held and still named, no sweep can remove it.
func (f *File) hold() (bool, error) {
	held, err := tryLock(f.Fd(), shared, heldByte)
	if err != nil {
		return false, fmt.Errorf("shm: %s: lock: %w", f.path, err)
	}
	if !held {
		return false, nil
	}
	return f.Linked()
}

// sameFile tells whether two descriptors mean one inode.
func sameFile(a, b int) (bool, error) {
	var sa, sb unix.Stat_t
	if err := errors.Join(unix.Fstat(a, &sa), unix.Fstat(b, &sb)); err != nil {
		return false, fmt.Errorf("shm: stat: %w", err)
	}
	return sa.Dev == sb.Dev && sa.Ino == sb.Ino, nil
}

func inode(info fs.FileInfo) uint64 {
	st, _ := info.Sys().(*syscall.Stat_t)
	return st.Ino
}

// leadsTo tells whether path, not followed, means the inode behind fd.
func leadsTo(path string, fd int) (bool, error) {
	var at, st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, fmt.Errorf("shm: %s: stat: %w", path, err)
	}
	if st.Nlink == 0 {
		return false, nil
	}
	err := unix.Fstatat(unix.AT_FDCWD, path, &at, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("shm: %s: stat: %w", path, err)
	}
	return at.Dev == st.Dev && at.Ino == st.Ino, nil
}
