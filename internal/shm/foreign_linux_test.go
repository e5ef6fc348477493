package shm

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What is under the name but is no region of this user is named, and stays.
func TestForeign(t *testing.T) {
	for _, c := range []struct {
		what string
		put  func(path string) error
		says string
	}{
		{"symlink", func(p string) error { return os.Symlink("/etc/passwd", p) }, "a symbolic link"},
		{"symlink to nothing", func(p string) error { return os.Symlink("nothing", p) }, "a symbolic link"},
		{"directory", func(p string) error { return os.Mkdir(p, 0o600) }, "a directory"},
		{"fifo", func(p string) error { return unix.Mkfifo(p, 0o600) }, "a fifo"},
		{"socket", func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o600, 0) }, "a socket"},
		{"mode", func(p string) error {
			return errors.Join(os.WriteFile(p, []byte("x"), 0o600), os.Chmod(p, 0o644))
		}, "mode is 0644"},
		{"set-uid", func(p string) error {
			return errors.Join(os.WriteFile(p, []byte("x"), 0o600), unix.Chmod(p, 0o4600))
		}, "mode is 04600"},
		{"owner", func(p string) error {
			return errors.Join(os.WriteFile(p, []byte("x"), 0o600), os.Chown(p, 65534, 65534))
		}, "owned by uid 65534"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if c.what == "owner" && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			d := dir(t)
			name := Name("job")
			path := filepath.Join(d, name)
			require.NoError(t, c.put(path))
			defer os.Remove(path)
			before, err := os.Lstat(path)
			require.NoError(t, err)

			var foreign *ForeignError
			_, err = Attach(name)
			require.ErrorAs(t, err, &foreign)
			require.Equal(t, path, foreign.Path)
			require.ErrorContains(t, err, c.says)
			_, err = Create(name, 1, nil)
			require.ErrorAs(t, err, &foreign)
			require.ErrorContains(t, err, c.says)
			require.Empty(t, sweepAll(t))

			after, err := os.Lstat(path)
			require.NoError(t, err)
			require.Equal(t, before.Sys(), after.Sys())
		})
	}
}

// A file cut short cannot be mapped further than it reaches, and one cut to
// nothing is no region; the sweep takes both.
func TestTruncated(t *testing.T) {
	d := dir(t)
	name := Name("job")
	dead(t, name, 1)
	require.NoError(t, os.Truncate(filepath.Join(d, name), 8192))
	f, err := Attach(name)
	require.NoError(t, err)
	require.EqualValues(t, 8192, f.Size())
	_, err = f.Map(0, 12288)
	require.ErrorIs(t, err, ErrRange)
	require.ErrorIs(t, f.Reserve(8192, 1), ErrRange)
	require.NoError(t, f.Close())

	require.NoError(t, os.Truncate(filepath.Join(d, name), 0))
	var foreign *ForeignError
	_, err = Attach(name)
	require.ErrorAs(t, err, &foreign)
	require.ErrorContains(t, err, "empty")
	require.Equal(t, []string{name}, sweepAll(t))
}

// A second hard link to a region, which the owner of the directory's other files
// may make, changes nothing: Linked means the region's own name.
func TestHardLink(t *testing.T) {
	d := dir(t)
	f := create(t, Name("job"), 1)
	other := filepath.Join(d, "other")
	require.NoError(t, os.Link(filepath.Join(d, f.Name()), other))
	require.NoError(t, f.Unlink())
	linked, err := f.Linked()
	require.NoError(t, err)
	require.False(t, linked)
	require.Equal(t, []string{"other"}, names(t, d))
	require.NoError(t, os.Remove(other))
}

func TestNames(t *testing.T) {
	dir(t)
	for _, name := range []string{
		"", "symwin", Name(""), "symwin-99-job", "../" + Name("job"), Name("a/b"), Name("a b"), Name("a\x00b"),
		Name("a (deleted)"), Name("a\nb"), Name("\xff"), Name(strings.Repeat("x", 256)),
	} {
		_, err := Create(name, 1, nil)
		require.Error(t, err, "%q", name)
		_, err = Attach(name)
		require.Error(t, err, "%q", name)
		require.NotErrorIs(t, err, fs.ErrNotExist, "%q", name)
	}
	_, err := Attach(Name("nobody"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, size := range []int64{0, -1} {
		_, err := Create(Name("job"), size, nil)
		require.ErrorContains(t, err, "must be more than 0")
		_, err = CreateMem(size)
		require.ErrorContains(t, err, "must be more than 0")
	}
}

// Where regions cannot be, one error says what to change.
func TestDirectories(t *testing.T) {
	name := Name("job")
	t.Setenv("SYMWIN_SHM_DIR", "relative")
	_, err := Create(name, 1, nil)
	require.ErrorContains(t, err, "not an absolute path")

	t.Setenv("SYMWIN_SHM_DIR", "/proc")
	_, err = Create(name, 1, nil)
	if os.Geteuid() == 0 { // others are not even allowed to try
		require.ErrorContains(t, err, "O_TMPFILE")
		require.ErrorContains(t, err, "SYMWIN_SHM_DIR")
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
	require.Error(t, err)

	t.Setenv("SYMWIN_SHM_DIR", filepath.Join(t.TempDir(), "missing"))
	_, err = Create(name, 1, nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Attach(name)
	require.ErrorContains(t, err, "directory")
	_, err = Sweep()
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Free()
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// An init that fails, panics or writes too far leaves nothing.
func TestInitFails(t *testing.T) {
	d := dir(t)
	name := Name("job")
	mine := errors.New("mine")
	_, err := Create(name, 4096, func(io.WriterAt) error { return mine })
	require.ErrorIs(t, err, mine)
	_, err = Create(name, 4096, func(w io.WriterAt) error { _, err := w.WriteAt(make([]byte, 2), 4095); return err })
	require.ErrorIs(t, err, ErrRange)
	require.Panics(t, func() { Create(name, 4096, func(io.WriterAt) error { panic("mine") }) })
	require.Empty(t, names(t, d))
}

// The mode is 0600 whatever the umask.
func TestUmask(t *testing.T) {
	d := dir(t)
	defer unix.Umask(unix.Umask(0o777))
	f := create(t, Name("job"), 1)
	g, err := Attach(f.Name())
	require.NoError(t, err)
	require.NoError(t, g.Close())
	st, err := os.Stat(filepath.Join(d, f.Name()))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode())
}

func TestClosed(t *testing.T) {
	dir(t)
	f := create(t, Name("job"), 1)
	require.NoError(t, f.Unlink())
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	require.Equal(t, -1, f.Fd())
	require.ErrorIs(t, f.Reserve(0, 4096), os.ErrClosed)
	require.ErrorIs(t, f.Unlink(), os.ErrClosed)
	_, err := f.Map(0, 4096)
	require.ErrorIs(t, err, os.ErrClosed)
}

// A file of this user under a region's name that does not begin as one is
// somebody's: neither a sweep nor a birth removes it.
func TestFilesThatAreNoRegionsStay(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SYMWIN_SHM_DIR", dir)
	path := filepath.Join(dir, Name("mine"))
	require.NoError(t, os.WriteFile(path, []byte("keep this, it is no region"), 0o600))
	removed, err := Sweep()
	require.NoError(t, err)
	require.Empty(t, removed)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "keep this, it is no region", string(text))
}
