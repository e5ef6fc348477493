//go:build !linux

package shm

import (
	"errors"
	"io"
	"io/fs"
)

// Create returns errors.ErrUnsupported: regions need Linux.
func Create(name string, size int64, init func(w io.WriterAt) error) (*File, error) {
	return nil, errors.ErrUnsupported
}

// Attach returns errors.ErrUnsupported.
func Attach(name string) (*File, error) { return nil, errors.ErrUnsupported }

// CreateMem returns errors.ErrUnsupported.
func CreateMem(size int64) (*File, error) { return nil, errors.ErrUnsupported }

// AttachPid returns errors.ErrUnsupported.
func AttachPid(pid, fd int) (*File, error) { return nil, errors.ErrUnsupported }

// Linked returns errors.ErrUnsupported.
func (f *File) Linked() (bool, error) { return false, errors.ErrUnsupported }

// Unlink returns errors.ErrUnsupported.
func (f *File) Unlink() error { return errors.ErrUnsupported }

// Reserve returns errors.ErrUnsupported.
func (f *File) Reserve(off, n int64) error { return errors.ErrUnsupported }

// Release returns errors.ErrUnsupported.
func (f *File) Release(off, n int64) error { return errors.ErrUnsupported }

// Map returns errors.ErrUnsupported.
func (f *File) Map(off, n int64) ([]byte, error) { return nil, errors.ErrUnsupported }

// Unmap returns errors.ErrUnsupported.
func Unmap(b []byte) error { return errors.ErrUnsupported }

// Heap returns errors.ErrUnsupported.
func Heap(n int64) ([]byte, func() error, error) { return nil, nil, errors.ErrUnsupported }

// Populate returns errors.ErrUnsupported.
func Populate(b []byte) error { return errors.ErrUnsupported }

// Free returns errors.ErrUnsupported.
func Free() (int64, error) { return 0, errors.ErrUnsupported }

// Sweep returns errors.ErrUnsupported.
func Sweep() (removed []string, err error) { return nil, errors.ErrUnsupported }

// FindOpen returns errors.ErrUnsupported.
func FindOpen() ([]Found, error) { return nil, errors.ErrUnsupported }

// Discard is not to be had here.
func Discard(b []byte) error { return errors.ErrUnsupported }

// CgroupRoom knows of no limit here.
func CgroupRoom() (room int64, limited bool) { return 0, false }

// MemoryRoom is not known here.
func MemoryRoom() (room int64, known bool) { return 0, false }

func inode(fs.FileInfo) uint64 { return 0 }
