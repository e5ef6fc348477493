package launch

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

// The guardian is a process of its own, this program started again, that does
// what a launcher killed by SIGKILL cannot do any more. It reads a pipe whose one
// write end the launcher holds: first the number of each rank's process group,
// at last a zero when the launcher has cleared up itself. The end of the pipe
// without a zero means that the launcher is dead.
//
// The kernel kills the ranks themselves (Pdeathsig); the guardian kills what they
// started, as far as it stayed in their process groups, and takes away the name
// that the region has while ranks join. What may escape: a process that left its
// group, and one that a rank started within the microseconds between its own
// start and the launcher's word about it.

// guardianName is the guardian's argv[0]; its argv[1] is the job.
const guardianName = "symwin-guardian"

// init turns a process that was started under the guardian's name into the
// guardian, before main. A hook for main to call would be more usual, but a
// program that forgot it would start itself once more in full, as many times as
// it starts jobs.
func init() {
	if len(os.Args) == 2 && os.Args[0] == guardianName {
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

// guardian is the launcher's end.
type guardian struct {
	pid  int
	pipe int // write end
}

func startGuardian(job string, null int) (guardian, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return guardian{}, fmt.Errorf("pipe: %w", err)
	}
	defer unix.Close(p[0])
	pid, err := syscall.ForkExec("/proc/self/exe", []string{guardianName, job}, &syscall.ProcAttr{
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
		return guardian{}, fmt.Errorf("starting the guardian process, /proc/self/exe: %w", err)
	}
	return guardian{pid: pid, pipe: p[1]}, nil
}

// watch tells the guardian about a process group. A pipe holds 64 KiB, so this
// never blocks.
func (g guardian) watch(group int) {
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], uint32(group))
	_, _ = unix.Write(g.pipe, word[:])
}

// dismiss ends the guardian without its having done anything. It may not even
// have begun to run, so it is not asked but killed; the zero before it is for a
// launcher that dies between the two.
func (g guardian) dismiss() {
	g.watch(0)
	_ = syscall.Kill(g.pid, syscall.SIGKILL)
	_, _ = syscall.Wait4(g.pid, nil, 0, nil)
	_ = unix.Close(g.pipe)
}
