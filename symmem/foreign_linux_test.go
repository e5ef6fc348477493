package symmem_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/symmem"
)

// shmDir makes a directory of the test's own, on the same file system, the
// directory of shared memory.
func shmDir(t *testing.T) string {
	dir, err := os.MkdirTemp(shm.Dir(), "symwintest-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	t.Setenv("SYMWIN_SHM_DIR", dir)
	return dir
}

// region makes the file of a job that is waiting for its ranks, as its creator
// left it when it was killed: nobody holds it.
func region(t *testing.T, g symmem.Geometry) []byte {
	t.Helper()
	shmDir(t)
	h, err := symmem.NewHost("model", g)
	require.NoError(t, err)
	defer h.Close()
	path := filepath.Join(shm.Dir(), shm.Name("model"))
	info, err := os.Stat(path)
	require.NoError(t, err)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	head := make([]byte, min(info.Size(), 256<<10))
	_, err = f.ReadAt(head, 0)
	require.NoError(t, err)
	return head
}

// TestWhatIsNoRegion: something else under the job's name is one error that names
// it, for ranks and for a launcher, and it is left as it was.
func TestWhatIsNoRegion(t *testing.T) {
	geometry := symmem.Geometry{Size: 2, Window: 2 << 20, Backing: symmem.BackingShm}
	head := region(t, geometry)
	const whole = 4<<20 + 2<<20 // control blocks, two windows
	file := func(content []byte, size int64, mode os.FileMode) func(string) error {
		return func(path string) error {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				return err
			}
			if err := os.Truncate(path, size); err != nil {
				return err
			}
			return os.Chmod(path, mode)
		}
	}
	damaged := func(at int) []byte {
		page := append([]byte(nil), head...)
		page[at] ^= 0x10
		return page
	}
	for what, put := range map[string]func(path string) error{
		"a directory":       func(path string) error { return os.Mkdir(path, 0o700) },
		"a symbolic link":   func(path string) error { return os.Symlink("/dev/zero", path) },
		"a dangling link":   func(path string) error { return os.Symlink("nowhere", path) },
		"a fifo":            func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"an empty file":     file(nil, 0, 0o600),
		"a short file":      file([]byte("hello"), 5, 0o600),
		"a text":            file([]byte("Dear diary, today"), 100_000, 0o600),
		"mode 0644":         file(head, whole, 0o644),
		"a truncated one":   file(head, whole-1, 0o600),
		"half a header":     file(head[:2000], 2000, 0o600),
		"cut to the header": file(head[:4096], 4096, 0o600),
		"an extended one":   file(head, whole+4096, 0o600),
		"another version":   file(damaged(8), whole, 0o600),
		"other ranks":       file(damaged(12), whole, 0o600),
		"a damaged job":     file(damaged(70), whole, 0o600),
		"a damaged CRC":     file(damaged(4095), whole, 0o600),
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(shm.Dir(), shm.Name("taken"))
			require.NoError(t, put(path))
			// Held, as by a live process: else it may be swept as a dead job's.
			if f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err == nil {
				defer f.Close()
				lock := syscall.Flock_t{Type: syscall.F_RDLCK, Start: 0, Len: 1}
				_ = syscall.FcntlFlock(f.Fd(), 37 /* F_OFD_SETLK */, &lock)
			}
			defer os.Remove(path)
			before, err := os.Lstat(path)
			require.NoError(t, err)
			o := symmem.Options{Job: "taken", Size: 2, Window: 2 << 20, JoinTimeout: 2 * time.Second}
			_, err = symmem.JoinWith(context.Background(), o)
			require.ErrorIs(t, err, symmem.ErrRegion)
			require.ErrorContains(t, err, shm.Name("taken"))
			_, err = symmem.NewHost("taken", geometry)
			require.Error(t, err)
			require.ErrorContains(t, err, shm.Name("taken"))
			after, err := os.Lstat(path)
			require.NoError(t, err, "it was removed")
			require.True(t, os.SameFile(before, after))
			require.Equal(t, before.Size(), after.Size())
		})
	}
}
