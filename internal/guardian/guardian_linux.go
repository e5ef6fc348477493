package guardian

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/symwin/symwin/internal/shm"
	"golang.org/x/sys/unix"
)

// argv0 is by what the guardian knows itself; its argv[1] is the job.
const argv0 = "symwin-guardian"

// init turns a process that was started under the guardian's name into the
// guardian, before main. A hook for main to call would be more usual, but a
// program that forgot it would start itself once more in full, as many times as
// it starts jobs.
func init() {
	if len(os.Args) == 2 && os.Args[0] == argv0 {
		keepWatch(os.Stdin, os.Args[1])
		os.Exit(0)
	}
}

func keepWatch(pipe io.Reader, job string) {
	// It ends with the launcher and by nothing else.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGUSR2)
	var groups []int
	for {
		var word [4]byte
		if _, err := io.ReadFull(pipe, word[:]); err != nil {
			break
		}
		group := int(binary.LittleEndian.Uint32(word[:]))
		if group == 0 {
			return
		}
		groups = append(groups, group)
	}
	for _, group := range groups {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	if f, err := shm.Attach(shm.Name(job)); err == nil {
		_ = f.Unlink()
		_ = f.Close()
	}
}

// Guardian is the launcher's end.
type Guardian struct {
	pid  int
	pipe int // write end
}

// Start starts the guardian of a job, with the descriptor null of /dev/null for
// what it might write.
func Start(job string, null int) (Guardian, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return Guardian{}, fmt.Errorf("pipe: %w", err)
	}
	defer unix.Close(p[0])
	pid, err := syscall.ForkExec("/proc/self/exe", []string{argv0, job}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   os.Environ(), // SYMWIN_SHM_DIR says where the name is
		Files: []uintptr{uintptr(p[0]), uintptr(null), uintptr(null)},
		// A session of its own, so that no terminal's signals reach it.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		unix.Close(p[1])
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: there is no /proc here; mount -t proc proc /proc", err)
		}
		return Guardian{}, fmt.Errorf("starting the guardian process, /proc/self/exe: %w", err)
	}
	return Guardian{pid: pid, pipe: p[1]}, nil
}

// Watch tells the guardian about a process group. A pipe holds 64 KiB, so this
// never blocks.
func (g Guardian) Watch(group int) {
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], uint32(group))
	_, _ = unix.Write(g.pipe, word[:])
}

// Dismiss ends the guardian without its having done anything. It may not even
// have begun to run, so it is not asked but killed; the zero before it is for a
// launcher that dies between the two.
func (g Guardian) Dismiss() {
	g.Watch(0)
	_ = syscall.Kill(g.pid, syscall.SIGKILL)
	_, _ = syscall.Wait4(g.pid, nil, 0, nil)
	_ = unix.Close(g.pipe)
}
