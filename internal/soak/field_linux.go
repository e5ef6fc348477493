package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/symmem"
	"golang.org/x/sys/unix"
)

// field is where the rounds take place: a directory of regions that is the
// campaign's own, so whatever stands there is left over.
type field struct {
	root    string
	dir     string // of ordinary rounds
	small   string // of rounds in which memory runs out
	mounted bool   // small is a file system of its own
	files   int    // descriptors that are open between rounds
}

const smallBytes = 48 << 20

// inPrivate starts this program's campaign again where mounts are private, so
// that a campaign that is killed leaves none, and returns its exit code. Where
// that is not allowed it runs here, without a file system to fill.
func inPrivate(args []string) int {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), roleVar+"=campaign")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}}
	}
	if err := cmd.Start(); err != nil {
		return campaign(args, os.Stdout)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, interrupts...)
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

func prepareField() (*field, error) {
	root, err := os.MkdirTemp(env.Get(env.KeyShmDir), "soak-")
	if err != nil {
		return nil, err
	}
	f := &field{root: root, dir: filepath.Join(root, "all"), small: filepath.Join(root, "small")}
	if err := errors.Join(os.Mkdir(f.dir, 0o700), os.Mkdir(f.small, 0o700)); err != nil {
		return nil, err
	}
	if os.Getenv(roleVar) == "campaign" {
		f.mounted = unix.Mount("tmpfs", f.small, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", smallBytes)) == nil
	}
	os.Unsetenv(roleVar)
	os.Setenv(markVar, strconv.Itoa(os.Getpid()))
	// The first poller's descriptors stay open for ever.
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	f.files = openFiles()
	return f, nil
}

func (f *field) clear() {
	if f.mounted {
		_ = unix.Unmount(f.small, unix.MNT_DETACH)
	}
	_ = os.RemoveAll(f.root)
}

// left tells what is left over: of processes, names and descriptors.
func (f *field) left() string {
	var left []string
	names, _ := filepath.Glob(filepath.Join(f.root, "*", "*"))
	for _, n := range names {
		left = append(left, "the name "+filepath.Base(n))
	}
	for _, p := range marked() {
		left = append(left, fmt.Sprintf("process %d (%s)", p.pid, p.command))
	}
	if now := openFiles(); now > f.files {
		left = append(left, fmt.Sprintf("%d descriptors", now-f.files))
	}
	return strings.Join(left, ", ")
}

// cleared waits until nothing is left, and tells what is after some seconds.
// Where everything was killed at one stroke, names may stay until a sweep.
func (f *field) cleared(sweep bool) string {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		if sweep {
			if _, err := symmem.Sweep(); err != nil {
				return "sweep: " + err.Error()
			}
		}
		left := f.left()
		if left == "" || time.Since(start) > 5*time.Second {
			return left
		}
	}
}

func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// process is one that this campaign has started, itself or through others.
type process struct {
	pid     int
	rank    int // -1: no rank
	command string
}

// marked lists the living ones.
func marked() (all []process) {
	mark := []byte(markVar + "=" + os.Getenv(markVar) + "\x00")
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if !bytes.Contains(environ, mark) {
			continue
		}
		p := process{pid: pid, rank: -1}
		for v := range bytes.SplitSeq(environ, []byte{0}) {
			if r, ok := bytes.CutPrefix(v, []byte(env.KeyRank+"=")); ok {
				p.rank, _ = strconv.Atoi(string(r))
			}
		}
		command, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		p.command = string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
		all = append(all, p)
	}
	return all
}
