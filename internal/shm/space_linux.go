package shm

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// where names what limits the region's memory.
func (f *File) where() string {
	if f.path == "" {
		return memory
	}
	return filepath.Dir(f.path)
}

func isNoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EDQUOT)
}

// noSpace looks, after the failure, at how much there is where it was missing.
func noSpace(where string, need int64, err error) error {
	have := freeMemory()
	// ENOMEM is never the directory's limit: memory, or a cgroup's part of it.
	if where != memory && !errors.Is(err, unix.ENOMEM) {
		if dir, e := freeIn(where); e == nil {
			have = dir
		}
	} else {
		where = memory
	}
	return &NoSpaceError{Need: need, Have: have, Where: where, Err: err}
}

// Free is how many bytes the filesystem of Dir has to give; where that has no
// limit of its own, how many the machine has.
func Free() (int64, error) { return freeIn(Dir()) }

func freeIn(dir string) (int64, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(dir, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return 0, noDirectory(dir, err)
		}
		if err != nil {
			return 0, fmt.Errorf("shm: free space of %s: %w", dir, err)
		}
		break
	}
	if st.Blocks == 0 { // a tmpfs mounted with size=0
		return freeMemory(), nil
	}
	if st.Bavail > uint64(math.MaxInt64)/uint64(st.Bsize) {
		return math.MaxInt64, nil
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// freeMemory is the kernel's own estimate of what can be had without swapping;
// 0 where it does not tell.
func freeMemory() int64 {
	info, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer info.Close()
	for lines := bufio.NewScanner(info); lines.Scan(); {
		var kib int64
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// noAddresses is noSpace for a mapping: what is missing are addresses, because
// of `ulimit -v` or a kernel told not to overcommit.
func noAddresses(need int64, err error) error {
	have := freeMemory()
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
		have = max(0, int64(min(limit.Cur, math.MaxInt64))-addressesUsed())
	}
	return &NoSpaceError{Need: need, Have: have, Where: addresses, Err: err}
}

func addressesUsed() int64 {
	var pages int64
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		fmt.Sscan(string(text), &pages)
	}
	return pages * int64(os.Getpagesize())
}
