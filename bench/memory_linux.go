package bench

import "golang.org/x/sys/unix"

// sharedMemory is n bytes as windows are made of: shared, in small pages, which
// are there when it returns.
func sharedMemory(n int) (b []byte, free func() error, err error) {
	b, err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	return b, func() error { return unix.Munmap(b) }, err
}
