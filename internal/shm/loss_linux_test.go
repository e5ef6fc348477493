//go:build amd64 || arm64

package shm

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// mapped is a file in memory of some pages, all of them written.
func mapped(t *testing.T, pages int) (*os.File, []byte) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	size := pages * os.Getpagesize()
	require.NoError(t, f.Truncate(int64(size)))
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Munmap(b) })
	for i := range b {
		b[i] = byte(i%251 + 1)
	}
	return f, b
}

// TestAMappingOutlivesItsFile: what the file has lost reads as zeroes and can be
// written; what it still has stays; and the word tells.
func TestAMappingOutlivesItsFile(t *testing.T) {
	const pages = 8
	page := os.Getpagesize()
	for _, keep := range []int{0, 1, 5, 7} {
		f, b := mapped(t, pages)
		var lost atomic.Uint32
		end := Outlive(b, &lost, 4)
		t.Cleanup(end)
		require.NoError(t, f.Truncate(int64(keep*page)))
		for i := range keep * page {
			require.Equal(t, byte(i%251+1), b[i], "byte %d of what was kept", i)
		}
		require.Zero(t, lost.Load(), "nothing was touched that is gone")
		b[len(b)-1] = 7 // the last page first
		require.EqualValues(t, 4, lost.Load())
		for i := keep * page; i < len(b)-page; i++ {
			require.Zero(t, b[i], "byte %d of what was cut", i)
			b[i] = 9
		}
		require.Zero(t, b[len(b)-page], "zeroes from the page that was touched to the end, however often")
		for i := range keep * page {
			require.Equal(t, byte(i%251+1), b[i], "byte %d of what was kept", i)
		}
		end()
	}
}

// TestManyLoseAtOnce: goroutines in the middle of copies, on all pages, while the
// file goes and other mappings begin and end.
func TestManyLoseAtOnce(t *testing.T) {
	f, b := mapped(t, 64)
	var lost atomic.Uint32
	defer Outlive(b, &lost, 1)()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			buf := make([]byte, len(b)/2)
			var other atomic.Uint32
			for round := 0; lost.Load() == 0 || round < 20; round++ {
				copy(buf, b[g*1000:])
				copy(b[g*1000:], buf)
				Outlive(buf, &other, 1)()
			}
		})
	}
	time.Sleep(time.Millisecond)
	require.NoError(t, f.Truncate(int64(os.Getpagesize())))
	all.Wait()
	require.EqualValues(t, 1, lost.Load())
}

// TestOthersComeAndGo: of two mappings that are in the same place of the table in
// turns one lies above the one that loses its file, and one below: its bounds are
// not the end of this one and the beginning of that.
func TestOthersComeAndGo(t *testing.T) {
	page := os.Getpagesize()
	f, _ := mapped(t, 1)
	room, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	defer unix.Munmap(room)
	below, b, above := room[:page], room[page:2*page], room[2*page:]
	above[0] = 7
	var lost, other atomic.Uint32
	first := Outlive(above, &other, 1)
	defer Outlive(b, &lost, 1)()
	first() // the place before b's

	var stop atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		for !stop.Load() {
			Outlive(above, &other, 1)()
			Outlive(below, &other, 1)()
		}
	})
	for range 20_000 {
		require.NoError(t, f.Truncate(int64(page)))
		_, err := unix.MmapPtr(int(f.Fd()), 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
		require.NoError(t, err)
		require.NoError(t, f.Truncate(0))
		lost.Store(0)
		b[0] = 1
		require.EqualValues(t, 1, lost.Load())
	}
	stop.Store(true)
	all.Wait()
	require.Zero(t, other.Load())
	require.EqualValues(t, 7, above[0])
}

// TestOtherFaultsGoOn: a fault in a mapping that nobody has told of, one whose
// time is over, and one at no address at all are Go's, as ever.
func TestOtherFaultsGoOn(t *testing.T) {
	f, b := mapped(t, 2)
	g, c := mapped(t, 2)
	var lost atomic.Uint32
	Outlive(b, &lost, 1)()
	defer Outlive(c, &lost, 1)()
	require.NoError(t, f.Truncate(0))
	fault := func(do func()) (v any) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { v = recover() }()
		do()
		return nil
	}
	require.ErrorContains(t, fault(func() { b[0] = 1 }).(error), "memory address")
	require.ErrorContains(t, fault(func() { var p *int; *p = 1 }).(error), "nil pointer")
	require.Zero(t, lost.Load())
	require.NoError(t, g.Truncate(0))
	require.Nil(t, fault(func() { c[0] = 1 }))
	require.EqualValues(t, 1, lost.Load())
}
