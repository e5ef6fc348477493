package symmem

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// startTime is when process pid started, in clock ticks since boot (field 22 of
// its stat): pid and start time together name a process, a pid alone may have
// been given away again. 0 where it cannot be read.
func startTime(pid int) uint64 {
	_, fields := stat(pid)
	if len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return n
}

// ancestor is the nearest process above this one that is called name, else the
// parent; started is 0 where it cannot be seen, or is the one that takes orphans.
func ancestor(name string) (pid int, started uint64) {
	for pid = os.Getppid(); pid > 1; {
		called, fields := stat(pid)
		if called == name {
			return pid, startTime(pid)
		}
		if len(fields) < 2 {
			break
		}
		pid, _ = strconv.Atoi(string(fields[1]))
	}
	if pid = os.Getppid(); pid <= 1 {
		return pid, 0
	}
	return pid, startTime(pid)
}

// pidSpace tells PID namespaces apart, since a process's number means something in
// its own only; 0 where it cannot be known.
var pidSpace = sync.OnceValue(func() uint64 {
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &st) != nil {
		return 0
	}
	return st.Ino
})

// procIsOurs reports whether the numbers in /proc are those of this process's own
// PID namespace: somebody may have made a namespace without a /proc of its own.
var procIsOurs = sync.OnceValue(func() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
})

// stat reads a process's name and the fields behind it: state, parent, … .
func stat(pid int) (name string, fields [][]byte) {
	if !procIsOurs() {
		return "", nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", nil
	}
	// The name in parentheses may hold anything; fields count from behind it.
	i, j := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if i < 0 || j < i {
		return "", nil
	}
	return string(text[i+1 : j]), bytes.Fields(text[j+1:])
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

// processOver reports, where no pidfd is to be had, whether process pid has ended:
// it is not there, or its last thread waits to be buried.
func processOver(pid int) bool {
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return true
	}
	_, fields := stat(pid)
	return len(fields) > 17 && (fields[0][0] == 'Z' || fields[0][0] == 'X') && len(fields[17]) == 1 && fields[17][0] <= '1'
}

// pidfdEnded waits up to limit and reports whether the process has ended.
func pidfdEnded(fd int, limit time.Duration) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, int(limit.Milliseconds()))
	return err == nil && n > 0
}

// interrupt has a thread of this process return from a sleep in the kernel. The
// runtime sends its threads this signal all the time, and expects ones it has not
// sent.
func interrupt(tid int) { _ = unix.Tgkill(os.Getpid(), tid, unix.SIGURG) }

func closeFd(fd int) { _ = unix.Close(fd) }

// processState is what no record of a rank can tell: that its process is
// "stopped", or "traced", which means held by a debugger; else "".
func processState(pid int) string {
	if _, fields := stat(pid); len(fields) > 0 {
		switch fields[0][0] {
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
