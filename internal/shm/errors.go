package shm

import (
	"errors"
	"fmt"
	"io/fs"
)

var (
	// ErrExist says that a live region has the name already: attach to it, or
	// choose another job key. It is an fs.ErrExist too.
	ErrExist = fmt.Errorf("region exists: %w", fs.ErrExist)

	// ErrBusy says that another process has held a lock for seconds that is
	// needed for microseconds: it is stopped, or traced, at the wrong place.
	ErrBusy = errors.New("locked by a process that does not go on")

	// ErrRange says that an offset and a length do not lie in the region.
	ErrRange = errors.New("outside the region")
)

// ForeignError says that what is found under a region's name, or behind a
// process's descriptor, cannot be a region of this user. It was not touched.
type ForeignError struct {
	Path string // what was looked at
	What string // what is wrong with it: type, owner, mode, size or seals
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("shm: %s is no region of this user: %s; remove it or choose another job key", e.Path, e.What)
}

// NoSpaceError says that memory for a region could not be reserved. The call
// that returned it has given back what it had reserved.
type NoSpaceError struct {
	Need  int64  // bytes asked for
	Have  int64  // bytes free when it failed; others may have taken or freed some since
	Where string // the directory, "memory", "the address space", or Cgroup
	Err   error  // the kernel's error: ENOSPC or ENOMEM
}

func (e *NoSpaceError) Error() string {
	remedy := "free some (df -h, df -i), make it larger (mount -o remount,size=..., docker --shm-size), or use a memfd backing"
	switch e.Where {
	case memory, Cgroup:
		remedy = "ask for less, or raise the memory limit"
	case addresses:
		remedy = "ask for less, or raise the limit (ulimit -v, vm.overcommit_memory)"
	}
	return fmt.Sprintf("shm: no space in %s (%v): need %s, have %s; %s", e.Where, e.Err, inUnits(e.Need), inUnits(e.Have), remedy)
}

// Unwrap returns the kernel's error.
func (e *NoSpaceError) Unwrap() error { return e.Err }

// NoSpaceError.Where for what no directory's size limits.
const (
	memory    = "memory"
	addresses = "the address space"

	// Cgroup is the memory cgroup that this process is in, or one above it.
	Cgroup = "the memory cgroup"
)

// inUnits writes a size as a person would: exact where it is a multiple of the unit.
func inUnits(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	unit, v := 0, float64(n)
	for v >= 1024 && unit < len(units)-1 {
		unit, v = unit+1, v/1024
	}
	if v == float64(int64(v)) {
		return fmt.Sprintf("%d %s", int64(v), units[unit])
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}

// inside checks that [off, off+n) lies in [0, size) without adding first: the
// sum of two numbers from elsewhere may overflow.
func inside(name string, off, n, size int64) error {
	if off < 0 || n < 0 || off > size || n > size-off {
		return fmt.Errorf("shm: %s: %d bytes at offset %d: %w of %d bytes", name, n, off, ErrRange, size)
	}
	return nil
}
