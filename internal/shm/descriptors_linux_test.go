package shm

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// peer opens what its parent has, writes through it, and keeps it.
func peer(args []string) error {
	fd, _ := strconv.Atoi(args[0])
	f, err := AttachPid(os.Getppid(), fd)
	if err != nil {
		return err
	}
	b, err := f.Map(0, f.Size())
	if err != nil {
		return err
	}
	for i := range b {
		b[i] += byte(i)
	}
	tell("done", f.Name())
	listen()
	return f.Close()
}

// A memfd, and a file without a name, reach another process by pid and number;
// it has a description of its own, so its lock is its own.
func TestAttachPid(t *testing.T) {
	dir(t)
	mem, err := CreateMem(mib)
	require.NoError(t, err)
	defer mem.Close()
	file := create(t, Name("job"), 1)
	require.NoError(t, file.Unlink())
	for _, f := range []*File{mem, file} {
		require.NoError(t, f.Reserve(0, f.Size()))
		b, err := f.Map(0, f.Size())
		require.NoError(t, err)
		for i := range b {
			b[i] = byte(i >> 8)
		}
		h := start(t, "peer", "-", fmt.Sprint(f.Fd()))
		h.says("done " + f.Name())
		want := make([]byte, f.Size())
		for i := range want {
			want[i] = byte(i>>8) + byte(i)
		}
		require.True(t, bytes.Equal(want, b))
		linked, err := f.Linked()
		require.NoError(t, err)
		require.False(t, linked)
		require.NoError(t, f.Unlink())

		// Held by both: exclusive only when the other, too, lets go.
		ok, err := tryLock(f.Fd(), exclusive, heldByte)
		require.NoError(t, err)
		require.False(t, ok, "the peer does not hold it")
		h.goOn()
		h.ends()
		ok, err = tryLock(f.Fd(), exclusive, heldByte)
		require.NoError(t, err)
		require.True(t, ok, "the peer's lock outlives it")
		require.NoError(t, Unmap(b))
	}
}

// Nobody can change the size of a memfd, or lift the seals.
func TestSealed(t *testing.T) {
	f, err := CreateMem(mib)
	require.NoError(t, err)
	defer f.Close()
	require.ErrorIs(t, unix.Ftruncate(f.Fd(), 4096), unix.EPERM)
	require.ErrorIs(t, unix.Ftruncate(f.Fd(), 2*mib), unix.EPERM)
	_, err = unix.FcntlInt(uintptr(f.Fd()), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	require.ErrorIs(t, err, unix.EPERM)
	require.NoError(t, f.Reserve(0, mib))
	require.NoError(t, f.Release(0, mib))
}

func TestAttachPidForeign(t *testing.T) {
	d := dir(t)
	self := os.Getpid()
	var foreign *ForeignError
	refused := func(what string, f *os.File, err error) {
		t.Helper()
		require.NoError(t, err)
		defer f.Close()
		_, err = AttachPid(self, int(f.Fd()))
		require.ErrorAs(t, err, &foreign)
		require.ErrorContains(t, err, what)
	}
	r, w, err := os.Pipe()
	refused("a fifo", r, err)
	refused("a fifo", w, err)
	null, err := os.Open("/dev/null")
	refused("a device", null, err)
	folder, err := os.Open(d)
	refused("a directory", folder, err)
	other, err := os.OpenFile(filepath.Join(d, "other"), os.O_CREATE|os.O_RDWR, 0o600)
	refused("leads to", other, err)
	require.NoError(t, os.Remove(filepath.Join(d, "other")))
	fd, err := unix.MemfdCreate("symwin", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	require.NoError(t, unix.Fchmod(fd, 0o600))
	require.NoError(t, unix.Ftruncate(fd, mib))
	refused("not sealed", os.NewFile(uintptr(fd), "memfd"), nil)
	open, err := unix.MemfdCreate("symwin", unix.MFD_CLOEXEC)
	refused("mode", os.NewFile(uintptr(open), "memfd"), err)

	_, err = AttachPid(self, 1<<20)
	require.ErrorIs(t, err, fs.ErrNotExist)
	h := start(t, "idle", "-")
	h.says("idle")
	h.kill()
	_, err = AttachPid(h.cmd.Process.Pid, 0)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// Every live region is found once, with all that have it open, whether it has a
// name or not; what is being born, closed or not a region is not.
func TestFindOpen(t *testing.T) {
	dir(t)
	none, err := FindOpen()
	require.NoError(t, err)
	require.Empty(t, none)

	a, b := create(t, Name("a"), 1), create(t, Name("b"), 2)
	h1, h2 := start(t, "attach", "-", a.Name()), start(t, "attach", "-", a.Name())
	h1.says("keeps 1")
	h2.says("keeps 1")
	require.NoError(t, a.Unlink())
	again := create(t, Name("a"), 3)
	unborn := start(t, "create", "written", Name("c"))
	unborn.says("at written")
	dead(t, Name("d"), 4)

	found, err := FindOpen()
	require.NoError(t, err)
	require.Len(t, found, 3)
	self := os.Getpid()
	pids := []int{self, h1.cmd.Process.Pid, h2.cmd.Process.Pid}
	seen := map[uint64]Found{}
	for _, f := range found {
		seen[f.Ino] = f
		require.Equal(t, f.Pids[0], f.Pid)
		require.IsIncreasing(t, append([]int{0}, f.Pids...))
		g, err := AttachPid(f.Pid, f.Fd)
		require.NoError(t, err)
		require.Equal(t, f.Name, g.Name())
		linked, err := g.Linked()
		require.NoError(t, err)
		require.Equal(t, f.Linked, linked)
		require.NoError(t, g.Close())
	}
	for _, c := range []struct {
		f      *File
		linked bool
		pids   []int
	}{{a, false, pids}, {b, true, pids[:1]}, {again, true, pids[:1]}} {
		var st unix.Stat_t
		require.NoError(t, unix.Fstat(c.f.Fd(), &st))
		f, ok := seen[st.Ino]
		require.True(t, ok)
		require.Equal(t, c.f.Name(), f.Name)
		require.Equal(t, st.Dev, f.Dev)
		require.Equal(t, c.linked, f.Linked)
		require.ElementsMatch(t, c.pids, f.Pids)
	}
	require.Equal(t, []string{Name("d")}, sweepAll(t))
}
