package peers

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// tree is the processes of one peer, a launcher and what it started, and the
// directories in which they put their files.
type tree struct {
	mark string
	// temp is for files, memory for those that are to be shared memory.
	temp, memory string
	before       []string // what was in /dev/shm before it
	guardian     *guardian
	lost         chan struct{} // closed when one of the members has ended

	mu      sync.Mutex
	over    bool
	started []*process
	members []member // what stop stops; launchers first
}

// dirPrefix begins the names of all directories of peers.
const dirPrefix = "peers-of-symwin-"

// newTree makes the directories and starts the guardian.
func newTree() (*tree, error) {
	t := &tree{mark: fmt.Sprintf("%d-%08x", os.Getpid(), rand.Uint32()), before: inShared(), lost: make(chan struct{})}
	var err error
	if t.temp, err = os.MkdirTemp("", dirPrefix+t.mark+"-"); err != nil {
		return nil, err
	}
	// Where the libraries put such files themselves.
	if t.memory, err = os.MkdirTemp("/dev/shm", dirPrefix+t.mark+"-"); err != nil {
		t.memory = t.temp
	}
	if t.guardian, err = startGuardian(t.mark, t.before, t.temp, t.memory); err != nil {
		_ = os.RemoveAll(t.temp)
		_ = os.RemoveAll(t.memory)
		return nil, err
	}
	return t, nil
}

// process is one that we started ourselves.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File // nil: /dev/null
	stdout *os.File // nil: dropped, or part of errors
	errors *tail
	ended  chan struct{} // closed when it has ended; then err is how
	err    error
}

// start starts a program of the tree. With talk its standard input and output are
// pipes; otherwise what it writes there is kept with its errors.
func (t *tree) start(argv, env []string, talk bool, files ...*os.File) (*process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, errors.New("closed")
	}
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), errors: new(tail), ended: make(chan struct{})}
	p.cmd.Env = append(append(environ(), env...), markVar+"="+t.mark)
	p.cmd.Dir = t.temp // core files and the like
	p.cmd.ExtraFiles = files
	p.cmd.Stderr = p.errors
	// A group of its own: what a terminal signals is for us to hear.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Whatever still holds its standard error must not keep us.
	p.cmd.WaitDelay = time.Second
	var theirs []*os.File
	if talk {
		in, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		r, out, err := os.Pipe()
		if err != nil {
			in.Close()
			w.Close()
			return nil, err
		}
		p.cmd.Stdin, p.cmd.Stdout = in, out
		p.stdin, p.stdout, theirs = w, r, []*os.File{in, out}
	} else {
		p.cmd.Stdout = p.errors
	}
	err := p.cmd.Start()
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.hangUp()
		return nil, err
	}
	t.started = append(slices.DeleteFunc(t.started, (*process).over), p)
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// over tells whether it has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		p.hangUp()
		return true
	default:
		return false
	}
}

// hangUp closes our ends of its pipes.
func (p *process) hangUp() {
	if p.stdin != nil {
		p.stdin.Close()
		p.stdout.Close()
	}
}

// how tells the end of a process and its last words.
func (p *process) how() string {
	<-p.ended
	what := "it ended"
	if p.err != nil {
		what = p.err.Error()
	}
	if last := p.errors.last(); last != "" {
		what += ": " + last
	}
	return what
}

// environ is our environment without what a launcher above us left in it: inside
// one job of MPI's, no other could be started.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "OMPI_COMM_WORLD") || strings.HasPrefix(s, "OMPI_UNIVERSE") ||
			strings.HasPrefix(s, "PMI") || strings.HasPrefix(s, markVar+"=")
	})
}

// patience is how many looks, a millisecond apart, processes get to obey SIGSTOP
// and SIGKILL: far more than they need, as the machine may be very busy. Looks are
// counted, not time: this process too may be stopped meanwhile.
const patience = 20_000

// stop stops all processes and returns when that is so.
func (t *tree) stop() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.members == nil {
		for _, pid := range t.list() {
			_, _, birth := stat(procDir(pid))
			t.members = append(t.members, member{pid, birth})
		}
		t.watch()
	}
	// The launchers come first: one that runs could pass a SIGCONT on that it was
	// sent before.
	for _, m := range t.members {
		m.signal(syscall.SIGSTOP)
		for looks := 0; !m.still(); looks++ {
			if looks == patience {
				return fmt.Errorf("process %d does not stop", m.pid)
			}
			time.Sleep(min(time.Duration(looks+1)*10*time.Microsecond, time.Millisecond))
		}
	}
	for _, m := range t.members {
		if !m.still() {
			return fmt.Errorf("process %d was woken by somebody", m.pid)
		}
	}
	return nil
}

// member is a process, and its birth in the kernel's clock ticks: a number may
// become another process's.
type member struct {
	pid   int
	birth string
}

func (m member) lives() bool {
	state, _, birth := stat(procDir(m.pid))
	return birth == m.birth && !strings.Contains("ZX", state)
}

func (m member) signal(s syscall.Signal) {
	if m.lives() {
		_ = syscall.Kill(m.pid, s)
	}
}

// still tells whether no thread of it can run: stopped, or dead.
func (m member) still() bool {
	if !m.lives() {
		return true
	}
	threads, _ := filepath.Glob(filepath.Join(procDir(m.pid), "task", "*"))
	for _, thread := range threads {
		if state, _, _ := stat(thread); !strings.Contains("TZX", state) {
			return false
		}
	}
	return true
}

// list is all living processes of the tree, those we started first and each before
// what it started.
func (t *tree) list() (pids []int) {
	rest := marked(t.mark)
	for _, p := range t.started {
		if slices.Contains(rest, p.cmd.Process.Pid) {
			pids = append(pids, p.cmd.Process.Pid)
		}
	}
	for k := 0; k < len(pids); k++ {
		for _, pid := range rest {
			if parent(pid) == pids[k] && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	for _, pid := range rest {
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid) // its parent is gone
		}
	}
	return pids
}

// resume lets all go on.
func (t *tree) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range slices.Backward(t.members) {
		m.signal(syscall.SIGCONT)
	}
}

// fell ends all processes, removes the directories and returns when nothing is
// left. It may be called again.
func (t *tree) fell() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	err := killMarked(t.mark, t.before)
	for _, p := range t.started {
		if err == nil {
			<-p.ended
		}
		p.hangUp()
	}
	if err != nil {
		return err // and the guardian goes on trying when we are gone
	}
	t.over = true
	err = errors.Join(os.RemoveAll(t.temp), os.RemoveAll(t.memory))
	t.guardian.dismiss()
	return err
}

// killMarked kills whatever carries the mark, also what is started meanwhile, and
// removes what it has left in /dev/shm that was not there before.
func killMarked(mark string, before []string) error {
	// One that was started while we looked may have a number that had been passed, so
	// it takes several looks to know that there is none.
	const enough = 3
	var files []string
	for looks, none := 0, 0; none < enough; looks++ {
		left := marked(mark)
		if none++; len(left) > 0 {
			none = 0
		}
		if none == 0 && looks > patience {
			return fmt.Errorf("processes %v of a peer do not end", left)
		}
		freeze(left)
		for _, pid := range left {
			files = append(files, held(pid)...)
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
	removeStrays(files, before)
	return nil
}

func procDir(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid)) }

func parent(pid int) int {
	_, ppid, _ := stat(procDir(pid))
	return ppid
}

// stat reads the state, the parent and the birth; those of what is gone are zero.
func stat(dir string) (state string, ppid int, birth string) {
	fields := statFields(dir)
	if len(fields) < 20 {
		return "", 0, ""
	}
	ppid, _ = strconv.Atoi(string(fields[1]))
	return string(fields[0]), ppid, string(fields[19])
}

// statFields is what the kernel tells of a process or a thread, from the state on.
func statFields(dir string) [][]byte {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil
	}
	// The name before may hold blanks and brackets.
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}
