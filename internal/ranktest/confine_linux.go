package ranktest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Confine is a program, for scripts of tests: "confine [WHAT…] -- PROGRAM
// [ARGS…]" runs PROGRAM as in a container, with private mounts, and returns its
// exit code. WHAT is any of
//
//	shm=OPTIONS      /dev/shm is a new tmpfs with these options (size=64m, ro)
//	pids             a PID namespace of its own, with its /proc
//	pids-only        the same, and still the /proc of the old one
//	no-proc          an empty /proc
//	no-sys           an empty /sys
//	no-dev           an empty /dev
//	hidepid          /proc without what belongs to others
//	powerless        no capabilities, also not those of root
//	cpus=N           a cgroup with the time of N CPUs (1, 0.5)
//	refuse=CALL,…    these system calls fail with EPERM: set_robust_list,
//	                 get_robust_list, pidfd_open, memfd_create, process_vm_readv
//
// Where the machine does not allow that, it says so and returns [Forbidden].
func Confine(args []string) int {
	at := slices.Index(args, "--")
	if at < 0 || at == len(args)-1 {
		fmt.Fprintln(os.Stderr, "confine: no -- PROGRAM")
		return 2
	}
	if os.Getenv(confined) != "" {
		err := confine(args[:at], args[at+1:])
		fmt.Fprintf(os.Stderr, "confine: %v\n", err)
		if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EINVAL) {
			return Forbidden
		}
		return 2
	}
	group, err := cpuGroup(args[:at])
	if err != nil {
		fmt.Fprintf(os.Stderr, "confine: %v\n", err)
		return Forbidden
	}
	if group != "" {
		defer func() {
			for range 1000 { // until the last of its processes is buried
				if os.Remove(group) == nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	c := exec.Command("/proc/self/exe", args...)
	c.Args[0] = os.Args[0]
	c.Env = append(os.Environ(), confined+"=1", confinedGroup+"="+group)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	flags := uintptr(0)
	if slices.Contains(args[:at], "pids") || slices.Contains(args[:at], "pids-only") {
		flags = syscall.CLONE_NEWPID
	}
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	if uid := os.Geteuid(); uid != 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags | syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}}
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM) // the program's affair
	runtime.LockOSThread()                         // Pdeathsig is the thread's
	err = c.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		ws := exit.Sys().(syscall.WaitStatus)
		if ws.Signaled() {
			return 128 + int(ws.Signal())
		}
		return ws.ExitStatus()
	case err != nil:
		fmt.Fprintf(os.Stderr, "confine: %v\n", err)
		return Forbidden
	}
	return 0
}

// Forbidden is Confine's exit code where the machine does not allow what is asked.
const Forbidden = 77

const confined, confinedGroup = "RANKTEST_CONFINED", "RANKTEST_CONFINED_GROUP"

// confine puts this process into its place and becomes the program; it returns
// only with an error.
func confine(what, program []string) error {
	runtime.LockOSThread() // filters and capabilities are the thread's, until it is all there is
	if group := os.Getenv(confinedGroup); group != "" {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
	}
	path, err := exec.LookPath(program[0])
	if err != nil {
		return err
	}
	environ := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, confined) })
	// What is below must not reach the mounts of others.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	var last []func() error
	for _, w := range what {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "shm":
			err = unix.Mount("tmpfs", "/dev/shm", "tmpfs", readOnly(value), data(value))
		case "pids":
			err = unix.Mount("proc", "/proc", "proc", 0, "")
		case "pids-only", "cpus":
		case "no-proc":
			last = append(last, func() error { return unix.Mount("tmpfs", "/proc", "tmpfs", 0, "") })
		case "no-sys":
			err = unix.Mount("tmpfs", "/sys", "tmpfs", 0, "")
		case "no-dev":
			err = unix.Mount("tmpfs", "/dev", "tmpfs", 0, "")
		case "hidepid": // the group of gid sees all, and root is in group 0
			err = unix.Mount("proc", "/proc", "proc", 0, "hidepid=2,gid=12345")
		case "powerless":
			last = append(last, dropCapabilities)
		case "refuse":
			last = append(last, func() error { return refuse(strings.Split(value, ",")) })
		default:
			err = fmt.Errorf("unknown: %s", w)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	for _, f := range last {
		if err := f(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, program, environ))
}

func readOnly(options string) (flags uintptr) {
	if options == "ro" {
		flags = unix.MS_RDONLY
	}
	return flags
}

func data(options string) string {
	if options == "ro" {
		return ""
	}
	return options
}

// dropCapabilities takes from root what a new program would give it again.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("dropping capabilities: %w", err)
		}
	}
	return nil
}

var calls = map[string]uint32{
	"set_robust_list": unix.SYS_SET_ROBUST_LIST, "get_robust_list": unix.SYS_GET_ROBUST_LIST, "pidfd_open": unix.SYS_PIDFD_OPEN,
	"memfd_create": unix.SYS_MEMFD_CREATE, "process_vm_readv": unix.SYS_PROCESS_VM_READV,
}

// refuse installs a filter by which the calls fail with EPERM, here and in all
// programs that follow.
func refuse(names []string) error {
	// A = number of the call; for each: if equal, go to the end.
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}}
	for i, name := range names {
		nr, known := calls[name]
		if !known {
			return fmt.Errorf("refuse=%s: unknown", name)
		}
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(names) - i), K: nr})
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("seccomp filter: %w", err)
	}
	return nil
}

// cpuGroup makes a cgroup if one is asked for.
func cpuGroup(what []string) (dir string, err error) {
	for _, w := range what {
		value, asked := strings.CutPrefix(w, "cpus=")
		if !asked {
			continue
		}
		cpus, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return "", err
		}
		quota := strconv.Itoa(int(cpus * 100_000))
		for _, kind := range []struct{ top, limit, value string }{
			{"/sys/fs/cgroup", "cpu.max", quota + " 100000"}, {"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", quota},
		} {
			at := filepath.Join(kind.top, fmt.Sprintf("symwin-test-cpu-%d", os.Getpid()))
			if os.Mkdir(at, 0o700) != nil {
				continue
			}
			// Not created: a directory that is none of a cgroup has no such file.
			f, err := os.OpenFile(filepath.Join(at, kind.limit), os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(kind.value)
				f.Close()
			}
			if err == nil {
				return at, nil
			}
			_ = os.Remove(at)
		}
		return "", errors.New("no cgroup for CPU time can be made here")
	}
	return "", nil
}
