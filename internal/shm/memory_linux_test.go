package shm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// pattern is n bytes that no page repeats.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>12)
	}
	return b
}

// Two mappings of one region are the same memory, wherever they begin; Release
// makes it zero in both.
func TestMappingsShare(t *testing.T) {
	dir(t)
	f := create(t, Name("job"), 1)
	g, err := Attach(f.Name())
	require.NoError(t, err)
	defer g.Close()
	require.NoError(t, f.Reserve(128<<10, 512<<10))
	a, err := f.Map(0, mib)
	require.NoError(t, err)
	b, err := g.Map(128<<10, 512<<10)
	require.NoError(t, err)
	require.Equal(t, make([]byte, len(b)), b)
	want := pattern(len(b))
	copy(a[128<<10:], want)
	require.True(t, bytes.Equal(want, b))
	require.NoError(t, g.Release(256<<10, 64<<10))
	clear(want[128<<10 : 192<<10])
	require.True(t, bytes.Equal(want, a[128<<10:][:len(want)]))
	require.True(t, bytes.Equal(want, b))
	require.Error(t, Unmap(a[4096:]), "a part of a mapping")
	require.NoError(t, Unmap(a))
	require.NoError(t, g.Close())
	require.Equal(t, want[1], b[1], "a mapping outlives its File")
	require.NoError(t, Unmap(b))
}

// A region may be far larger than memory: only what is reserved is there.
func TestSparse(t *testing.T) {
	dir(t)
	const size = 1 << 40
	f, err := Create(Name("job"), size, nil)
	require.NoError(t, err)
	defer f.Close()
	defer f.Unlink()
	b, err := f.Map(0, size)
	require.NoError(t, err)
	require.NoError(t, f.Reserve(size-4096, 4096))
	b[size-1] = 1
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(f.Fd(), &st))
	require.LessOrEqual(t, st.Blocks*512, int64(4*mib), "one page, of whatever size")
	require.NoError(t, Unmap(b))
	h, free, err := Heap(size)
	require.NoError(t, err)
	h[size-1] = 1
	require.NoError(t, free())
}

func TestRanges(t *testing.T) {
	dir(t)
	f := create(t, Name("job"), 1)
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {0, mib + 1}, {mib, 1}, {mib + 1, 0}, {math.MaxInt64, 1}, {1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}} {
		require.ErrorIs(t, f.Reserve(r[0], r[1]), ErrRange, "%v", r)
		require.ErrorIs(t, f.Release(r[0], r[1]), ErrRange, "%v", r)
		_, err := f.Map(r[0], r[1])
		require.ErrorIs(t, err, ErrRange, "%v", r)
	}
	require.NoError(t, f.Reserve(mib, 0))
	require.NoError(t, f.Release(mib, 0))
	_, err := f.Map(4096, 0)
	require.Error(t, err)
	_, err = f.Map(100, 4096)
	require.ErrorContains(t, err, "page size")
	for _, n := range []int64{0, -1} {
		_, _, err = Heap(n)
		require.Error(t, err)
	}
}

// smaps is what the kernel tells about the mapping that begins with b.
func smaps(t *testing.T, b []byte) string {
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	_, after, ok := strings.Cut("\n"+string(text), fmt.Sprintf("\n%08x-", uintptr(unsafe.Pointer(&b[0]))))
	require.True(t, ok, "not mapped")
	about, _, ok := strings.Cut(after, "VmFlags:")
	require.True(t, ok)
	flags, _, _ := strings.Cut(after[len(about):], "\n")
	return about + flags + " "
}

// Mappings stay out of core dumps and out of forked children.
func TestAdvice(t *testing.T) {
	dir(t)
	f := create(t, Name("job"), 1)
	b, err := f.Map(0, mib)
	require.NoError(t, err)
	defer Unmap(b)
	require.Contains(t, smaps(t, b), " dd ", "DONTDUMP")
	require.Contains(t, smaps(t, b), " dc ", "DONTFORK")
}

// Populate makes every page present, changes no byte, and takes any part of a
// mapping, on old kernels too.
func TestPopulate(t *testing.T) {
	dir(t)
	defer noPopulateWrite.Store(false)
	for _, old := range []bool{false, true} {
		noPopulateWrite.Store(old)
		f := create(t, Name(fmt.Sprint("job-", old)), 1)
		require.NoError(t, f.Reserve(0, mib))
		w, err := f.Map(0, mib)
		require.NoError(t, err)
		copy(w, pattern(mib))
		b, err := f.Map(0, mib)
		require.NoError(t, err)
		require.Contains(t, smaps(t, b), "Rss:                   0 kB")
		require.NoError(t, Populate(b[5000:5000]))
		require.NoError(t, Populate(b[5000:9000]))
		require.NotContains(t, smaps(t, b), "Rss:                   0 kB")
		require.NoError(t, Populate(b[100:]))
		require.Contains(t, smaps(t, b), "Rss:                1024 kB")
		require.True(t, bytes.Equal(pattern(mib), b))
		require.NoError(t, Unmap(b))
		require.NoError(t, Unmap(w))
	}
}

func TestHeap(t *testing.T) {
	b, free, err := Heap(3 * mib)
	require.NoError(t, err)
	require.Len(t, b, 3*mib)
	require.Zero(t, uintptr(unsafe.Pointer(&b[0]))%uintptr(os.Getpagesize()))
	require.NoError(t, Populate(b))
	require.True(t, bytes.Equal(make([]byte, len(b)), b))
	copy(b, pattern(len(b)))
	require.NoError(t, free())
	require.NoError(t, free(), "the second time does nothing")
}

// Signals that interrupt fallocate neither lose nor repeat a byte, and cannot
// hold it for ever: pieces become shorter until they pass.
func TestReserveInterrupted(t *testing.T) {
	defer func() { fallocate = unix.Fallocate }()
	const off, n = 3 * 4096, 300*mib + 4096
	next, largest, interrupted := int64(off), int64(0), 0
	fallocate = func(fd int, mode uint32, at, length int64) error {
		require.EqualValues(t, unix.FALLOC_FL_KEEP_SIZE, mode)
		require.Equal(t, next, at)
		largest = max(largest, length)
		if length > 5*mib {
			interrupted++
			return unix.EINTR
		}
		next += length
		return nil
	}
	done, err := reserve(-1, off, n)
	require.NoError(t, err)
	require.EqualValues(t, n, done)
	require.EqualValues(t, off+n, next)
	require.EqualValues(t, 64*mib, largest)
	require.Equal(t, 4, interrupted)
}

// What a failed Reserve gives back is exactly what it has taken.
func TestReserveRollsBack(t *testing.T) {
	dir(t)
	defer func() { fallocate = unix.Fallocate }()
	f, err := Create(Name("job"), 1<<30, nil)
	require.NoError(t, err)
	defer f.Close()
	defer f.Unlink()
	var holes [][2]int64
	calls := 0
	for _, fails := range []error{unix.ENOSPC, unix.ENOMEM, unix.EIO} {
		holes, calls = nil, 0
		fallocate = func(fd int, mode uint32, at, length int64) error {
			if mode&unix.FALLOC_FL_PUNCH_HOLE != 0 {
				holes = append(holes, [2]int64{at, length})
				return nil
			}
			if calls++; calls == 3 {
				return fails
			}
			return nil
		}
		err = f.Reserve(4096, 256*mib)
		require.ErrorIs(t, err, fails)
		require.Equal(t, [][2]int64{{4096, 128 * mib}}, holes)
		var none *NoSpaceError
		require.Equal(t, fails != unix.EIO, errors.As(err, &none))
		if fails == unix.ENOMEM {
			require.Equal(t, memory, none.Where, "ENOMEM is not the directory's size")
		}
	}
}

// inner runs the calling test again in a process that may be spoiled; there it
// returns true.
func inner(t *testing.T, attr *syscall.SysProcAttr) bool {
	const mark = "SHMTEST_INNER"
	if os.Getenv(mark) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("no private mounts allowed here: ", err)
	}
	t.Logf("%s", out)
	require.NoError(t, err)
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip("see above")
	}
	return false
}

// mount makes a small tmpfs the directory of regions, in private mounts.
func mount(t *testing.T, options string) {
	d := t.TempDir()
	if err := unix.Mount("tmpfs", d, "tmpfs", 0, options); err != nil {
		t.Skip("no tmpfs can be mounted here: ", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(d, unix.MNT_DETACH)) })
	t.Setenv("SYMWIN_SHM_DIR", d)
}

// privateMounts needs root, or a user namespace where those are allowed.
func privateMounts() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		attr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}}
	}
	return attr
}

func TestNoSpace(t *testing.T) {
	if !inner(t, privateMounts()) {
		return
	}
	mount(t, "size=100m")
	free := func() int64 {
		n, err := Free()
		require.NoError(t, err)
		return n
	}
	f, err := Create(Name("job"), 1<<30, writeHeader(9))
	require.NoError(t, err)
	require.NoError(t, f.Reserve(mib, 2*mib))
	b, err := f.Map(0, 1<<30)
	require.NoError(t, err)
	copy(b[mib:], pattern(2*mib))
	before := free()
	require.Less(t, before, int64(98*mib))

	// More than one piece: the first one finds room and is given back.
	var none *NoSpaceError
	require.ErrorAs(t, f.Reserve(3*mib, 160*mib), &none)
	require.Equal(t, before, free(), "given back")
	require.EqualValues(t, 160*mib, none.Need)
	require.Equal(t, before, none.Have)
	require.Equal(t, Dir(), none.Where)
	require.ErrorIs(t, none, unix.ENOSPC)
	require.ErrorContains(t, none, "need 160 MiB")

	// What fits can be had, to the last page, and given back.
	require.NoError(t, f.Reserve(3*mib, before))
	require.Zero(t, free())
	require.NoError(t, Populate(b[mib:3*mib+before]))
	require.True(t, bytes.Equal(make([]byte, before), b[3*mib:][:before]))
	_, err = Create(Name("other"), 1<<30, writeHeader(1))
	require.ErrorAs(t, err, &none, "no room for the header")
	require.NoError(t, f.Release(3*mib, before))
	require.Equal(t, before, free())

	require.True(t, bytes.Equal(pattern(2*mib), b[mib:3*mib]), "reserved before: not touched")
	require.EqualValues(t, 9, author(f))
	require.NoError(t, Unmap(b))
	require.NoError(t, f.Unlink())
	require.NoError(t, f.Close())
	require.EqualValues(t, 100*mib, free())
}

func TestNoInodes(t *testing.T) {
	if !inner(t, privateMounts()) {
		return
	}
	mount(t, "size=1m,nr_inodes=2") // the root directory is one
	f, err := Create(Name("job"), mib, nil)
	require.NoError(t, err)
	var none *NoSpaceError
	_, err = Create(Name("other"), mib, nil)
	require.ErrorAs(t, err, &none)
	require.ErrorContains(t, err, "df -i")
	require.NoError(t, f.Unlink())
	require.NoError(t, f.Close())
}

// A tmpfs without a limit of its own has what the machine has.
func TestFreeWithoutLimit(t *testing.T) {
	if !inner(t, privateMounts()) {
		return
	}
	mount(t, "size=0")
	n, err := Free()
	require.NoError(t, err)
	require.NotZero(t, n)
}

// Limits that the kernel would answer with a deadly signal, or with a bare
// errno, are one line.
func TestLimits(t *testing.T) {
	if !inner(t, nil) {
		return
	}
	dir(t)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: mib, Max: mib}))
	_, err := Create(Name("job"), 2*mib, nil)
	require.ErrorIs(t, err, unix.EFBIG)
	require.ErrorContains(t, err, "ulimit -f")
	_, err = CreateMem(2 * mib)
	require.ErrorIs(t, err, unix.EFBIG)
	create(t, Name("job"), 1)

	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseUint(strings.Fields(string(text))[0], 10, 64)
	require.NoError(t, err)
	limit := pages*uint64(os.Getpagesize()) + 256*mib
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}))
	var none *NoSpaceError
	_, _, err = Heap(1 << 30)
	require.ErrorAs(t, err, &none)
	require.Equal(t, addresses, none.Where)
	require.LessOrEqual(t, none.Have, int64(256*mib))
}

func TestInUnits(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 64 << 20: "64 MiB", 1 << 30: "1 GiB", math.MaxInt64: "8192 PiB"} {
		require.Equal(t, want, inUnits(n))
	}
}
