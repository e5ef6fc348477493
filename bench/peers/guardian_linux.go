package peers

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// The guardian is a process of its own, this program started again, that does for
// a peer what a harness killed by SIGKILL cannot do any more. Neither the kernel
// nor the peer could: a Pdeathsig reaches only the harness's own children, a
// launcher that is stopped hears of nothing, and the ranks' parent is the
// launcher. The guardian reads a pipe of which the harness alone has the other
// end, and which begins with the names in /dev/shm that are not the peer's. At its end
// it kills everything that carries the mark, stopped or not, and removes the
// directories and what else they have left.

// guardianName is the guardian's argv[0]; then follow the mark and the directories.
const guardianName = "symwin-peer-guardian"

// A hook for main to call would be more usual than init, but a program that
// forgot it would start itself again in full.
func init() {
	if len(os.Args) > 2 && os.Args[0] == guardianName {
		// It ends with the harness and by nothing else.
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGUSR2)
		before, _ := io.ReadAll(os.Stdin)
		_ = killMarked(os.Args[1], strings.Split(string(before), "\x00"))
		for _, dir := range os.Args[2:] {
			// It removes whole directories, so nothing but what newTree makes.
			if strings.HasPrefix(filepath.Base(dir), dirPrefix+os.Args[1]) {
				_ = os.RemoveAll(dir)
			}
		}
		os.Exit(0)
	}
}

type guardian struct {
	cmd  *exec.Cmd
	pipe *os.File
}

func startGuardian(mark string, before []string, dirs ...string) (*guardian, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path:        "/proc/self/exe",
		Args:        append([]string{guardianName, mark}, dirs...),
		Dir:         "/",
		Stdin:       r,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	g := &guardian{cmd, w}
	if _, err := io.WriteString(w, strings.Join(before, "\x00")); err != nil {
		g.dismiss()
		return nil, err
	}
	return g, nil
}

// dismiss ends the guardian when there is nothing left to guard.
func (g *guardian) dismiss() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	g.pipe.Close()
}
