package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// seals fix a memfd's size for good, so that nobody can take mapped pages away.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// CreateMem makes a region of size bytes without a name, which memory alone
// limits, not the size of a tmpfs; its own size is sealed. Peers find it by this
// process's pid and Fd (see AttachPid) while this process holds it.
// May be called concurrently.
func CreateMem(size int64) (*File, error) {
	const name = "symwin"
	if err := sizeAllowed("memfd", size); err != nil {
		return nil, err
	}
	// Where the administrator forbids executable memfds only NOEXEC is allowed;
	// kernels before 6.3 do not know it.
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		return nil, fmt.Errorf("shm: memfd_create is refused here (%w): allow it in the seccomp profile, or use --backing shm (SYMWIN_BACKING=shm) with a %s that is large enough", err, Dir())
	}
	if err != nil {
		return nil, fmt.Errorf("shm: memfd: %w", err)
	}
	if err := shape(fd, "memfd", size); err != nil {
		unix.Close(fd)
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("shm: memfd: seal: %w", err)
	}
	f, err := adopt(fd, "memfd:"+name)
	if err != nil {
		return nil, err
	}
	return f.kept()
}

// AttachPid opens the region that process pid has as descriptor fd: a memfd, or
// a file whose name is gone already. It opens a description of its own, because
// a lock on another's would outlive it. The checks are Attach's; a memfd must be
// sealed, a file be called symwin-… . The pid must be known to mean the right
// process. Errors: fs.ErrNotExist, where process or descriptor is gone;
// fs.ErrPermission, where it is another user's; *ForeignError.
// May be called concurrently.
func AttachPid(pid, fd int) (*File, error) {
	link := fmt.Sprintf("/proc/%d/fd/%d", pid, fd)
	// First without opening it: to open a device has effects.
	handle, err := openPath(link)
	if err != nil {
		return nil, fmt.Errorf("shm: descriptor %d of process %d: %w", fd, pid, err)
	}
	defer unix.Close(handle)
	self := fmt.Sprintf("/proc/self/fd/%d", handle)
	path, err := os.Readlink(self)
	if err != nil {
		return nil, fmt.Errorf("shm: descriptor %d of process %d: %w", fd, pid, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(handle, &st); err != nil {
		return nil, fmt.Errorf("shm: descriptor %d of process %d: %w", fd, pid, err)
	}
	if foreign := judge(link, &st); foreign != nil {
		return nil, foreign
	}
	path = strings.TrimSuffix(path, deleted)
	mem := strings.HasPrefix(path, "/memfd:")
	if !mem && !strings.HasPrefix(filepath.Base(path), prefix) {
		return nil, &ForeignError{link, "it leads to " + path}
	}
	own, err := openFile(self, 0)
	if err != nil {
		return nil, fmt.Errorf("shm: descriptor %d of process %d: %w", fd, pid, err)
	}
	f, err := adopt(own, path)
	if err != nil {
		return nil, err
	}
	if !mem {
		f.path = path
		return f.kept()
	}
	if has, err := unix.FcntlInt(uintptr(own), unix.F_GET_SEALS, 0); err != nil || has&seals != seals {
		f.Close()
		return nil, &ForeignError{link, "its size is not sealed"}
	}
	return f.kept()
}

// deleted is what the kernel writes behind the path of a file without a name.
const deleted = " (deleted)"

// kept holds a region that was not opened by its name.
func (f *File) kept() (*File, error) {
	err := share(f.Fd())
	if f.size == 0 {
		err = &ForeignError{f.name, "it is empty"}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("shm: %s: %w", f.name, err)
	}
	return f, nil
}

func openPath(link string) (fd int, err error) {
	for {
		fd, err = unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
