package shm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/edsrzf/mmap-go"
	"golang.org/x/sys/unix"
)

// Map maps n bytes at offset off, a multiple of the page size, shared and for
// reading and writing. Only reserved bytes may be touched. The mapping is in no
// core dump (a dump holds up the news of a death, 0.85 s per GiB here) and in no
// forked child (a child is no rank, and must not write as one). It outlives the
// File; give the very slice to Unmap. May be called concurrently.
func (f *File) Map(off, n int64) ([]byte, error) {
	if err := inside(f.name, off, n, f.size); err != nil {
		return nil, err
	}
	if n == 0 || n > math.MaxInt || off%int64(os.Getpagesize()) != 0 {
		return nil, fmt.Errorf("shm: %s: map %d bytes at offset %d: the offset must be a multiple of the page size, the length more than 0 and addressable", f.name, n, off)
	}
	var b []byte
	err := f.with(func(int) error {
		m, err := mmap.MapRegion(f.file, int(n), mmap.RDWR, 0, off)
		b = m
		return err
	})
	if isNoSpace(err) {
		return nil, noAddresses(n, err)
	}
	if err != nil {
		return nil, fmt.Errorf("shm: %s: map %d bytes at %d: %w", f.name, n, off, err)
	}
	if err := errors.Join(unix.Madvise(b, unix.MADV_DONTDUMP), unix.Madvise(b, unix.MADV_DONTFORK)); err != nil {
		return nil, errors.Join(fmt.Errorf("shm: %s: madvise: %w", f.name, err), Unmap(b))
	}
	return b, nil
}

// Unmap ends a mapping; b must be what Map returned, not a part of it, and
// nobody may touch it any more.
func Unmap(b []byte) error {
	m := mmap.MMap(b)
	if err := m.Unmap(); err != nil {
		return fmt.Errorf("shm: unmap %d bytes: %w", len(b), err)
	}
	return nil
}

// Heap maps n bytes of zeroed, page-aligned memory that only this process has,
// for worlds that live in one process, and gives the function that unmaps it
// (which works once; later calls do nothing). Pages cost memory when they are
// first touched; MAP_NORESERVE, which mmap-go does not offer, because windows
// are mostly address space and the kernel would refuse more than the machine
// has. An address space too small is a *NoSpaceError.
func Heap(n int64) ([]byte, func() error, error) {
	if n <= 0 || n > math.MaxInt {
		return nil, nil, fmt.Errorf("shm: a heap of %d bytes: must be more than 0 and addressable", n)
	}
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if isNoSpace(err) {
		return nil, nil, noAddresses(n, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("shm: a heap of %s: %w", inUnits(n), err)
	}
	return b, sync.OnceValue(func() error { return Unmap(b) }), nil
}

// Discard gives the whole pages b of memory from Heap back: they read as zero
// and cost nothing until they are touched again.
func Discard(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("shm: giving %s back: %w", inUnits(int64(len(b))), err)
	}
	return nil
}

// Populate makes the pages of b, any part of a mapping, present and writable
// now, so that first writes do not cost 1 µs per page later. It changes no byte,
// also not one that a peer writes meanwhile. Shared mappings must be reserved:
// otherwise there may be no memory, which is an error or, on kernels before
// 5.14, SIGBUS. May be called concurrently.
func Populate(b []byte) error {
	pages := wholePages(b)
	if len(pages) == 0 {
		return nil
	}
	for !noPopulateWrite.Load() {
		err := unix.Madvise(pages, unix.MADV_POPULATE_WRITE)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case errors.Is(err, unix.EINVAL): // a kernel before 5.14
			noPopulateWrite.Store(true)
		case isNoSpace(err):
			return noSpace(memory, int64(len(b)), err)
		default:
			return fmt.Errorf("shm: populate %d bytes: %w", len(b), err)
		}
	}
	touch(pages)
	return nil
}

// noPopulateWrite is set once the kernel has refused MADV_POPULATE_WRITE.
var noPopulateWrite atomic.Bool

// touch writes to every page without changing it: an atomic addition of nothing
// leaves a peer's concurrent store as it is.
func touch(pages []byte) {
	for at := 0; at < len(pages); at += os.Getpagesize() {
		atomic.AddUint32((*uint32)(unsafe.Pointer(&pages[at])), 0)
	}
}

// wholePages extends b downwards to the beginning of its first page, as madvise
// wants it. Mappings begin on a page, so that stays inside.
func wholePages(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	start := unsafe.Pointer(unsafe.SliceData(b))
	lead := int(uintptr(start) % uintptr(os.Getpagesize()))
	return unsafe.Slice((*byte)(unsafe.Add(start, -lead)), lead+len(b))
}
