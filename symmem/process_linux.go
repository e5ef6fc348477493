package symmem

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// startTime is when process pid started, in clock ticks since boot (field 22 of
// its stat): pid and start time together name a process, a pid alone may have
// been given away again. 0 where it cannot be read.
func startTime(pid int) uint64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything; fields count from behind it.
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0
	}
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return n
}

// usableCPUs is the affinity of this process as a bit set of the first 1024
// CPUs; empty where it cannot be read.
func usableCPUs() (set [16]uint64) {
	var cpus unix.CPUSet
	if unix.SchedGetaffinity(0, &cpus) != nil {
		return set
	}
	for c := range len(set) * 64 {
		if cpus.IsSet(c) {
			set[c>>6] |= 1 << (c & 63)
		}
	}
	return set
}

// pidfdOpen is a descriptor of process pid that polls readable when it ends.
func pidfdOpen(pid int) (int, error) { return unix.PidfdOpen(pid, 0) }

// noSuchProcess reports whether err says that a process does not exist.
func noSuchProcess(err error) bool { return errors.Is(err, unix.ESRCH) }

// pidfdEnded waits up to limit and reports whether the process has ended.
func pidfdEnded(fd int, limit time.Duration) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, int(limit.Milliseconds()))
	return err == nil && n > 0
}

func closeFd(fd int) { _ = unix.Close(fd) }

// processState is what no record of a rank can tell: that its process is
// "stopped", or "traced", which means held by a debugger; else "".
func processState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	if i := bytes.LastIndexByte(stat, ')'); i >= 0 && i+2 < len(stat) {
		switch stat[i+2] {
		case 'T':
			return "stopped"
		case 't':
			return "traced"
		}
	}
	return ""
}

// tracer is the process that debugs process pid, running or held; 0: none.
func tracer(pid int) (by int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	if _, rest, ok := bytes.Cut(status, []byte("\nTracerPid:")); ok {
		line, _, _ := bytes.Cut(rest, []byte{'\n'})
		by, _ = strconv.Atoi(string(bytes.TrimSpace(line)))
	}
	return by
}
