package peers

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// markVar is in the environment of all processes of a peer, and of nothing else:
// what a launcher starts inherits it, whatever sessions and groups are made on
// the way, and so all of them are found again.
const markVar = "SYMWIN_BENCH_PEER"

// marked lists the living processes that carry a mark.
func marked(mark string) (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && carries(pid, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// carries tells whether a process carries a mark. Other people's environment is not
// for us to read. One that is just becoming another program has none, or what could
// be read of the old one, and may be kept from the CPU in the middle of that. So
// that it does not carry a mark is believed of a process that had the same place for
// its environment before and after the look, and of which all was read.
func carries(pid int, mark string) bool {
	entry := []byte("\x00" + markVar + "=" + mark + "\x00")
	before := placeOfEnvironment(pid)
	for looks := range becomingLooks {
		environ, err := os.ReadFile(filepath.Join(procDir(pid), "environ"))
		if err != nil {
			return false
		}
		if bytes.Contains(slices.Concat([]byte{0}, environ), entry) {
			return true
		}
		after := placeOfEnvironment(pid)
		if after == before && after.settled(len(environ)) {
			return false
		}
		before = after
		time.Sleep(min(time.Duration(looks)*10*time.Microsecond, time.Millisecond))
	}
	return false
}

// becomingLooks is how many looks, a millisecond apart at last, a process gets to become
// a program. (There are systems that tell nobody the place of an environment.)
const becomingLooks = 1000

// place is where in its memory a process's environment lies. All zeros is one that has
// none yet, not even an empty one: it is in the middle of execve.
type place struct {
	start, end uint64
	none       bool // dead, gone, or the kernel's own
}

// settled reports whether an environment of so many bytes was all of it.
func (p place) settled(bytes int) bool {
	return p.none || p.end != 0 && p.end-p.start == uint64(bytes)
}

func placeOfEnvironment(pid int) place {
	const (
		flags, start, end = 6, 47, 48 // fields of proc(5), counted from the state
		exiting, kernels  = 0x4, 0x200000
	)
	fields := statFields(procDir(pid))
	if len(fields) <= end {
		return place{none: true}
	}
	number := func(field int) uint64 { n, _ := strconv.ParseUint(string(fields[field]), 10, 64); return n }
	if number(flags)&(exiting|kernels) != 0 {
		return place{none: true}
	}
	return place{start: number(start), end: number(end)}
}
