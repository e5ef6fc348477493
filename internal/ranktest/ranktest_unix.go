// Package ranktest runs tests as real processes: the test binary executes itself
// again, once per rank, each rank runs a named scenario, and the test looks at
// how they ended.
//
// The invariant: nothing outlives a test. Job's clean-up kills what still runs,
// waits for it, and fails the test if the job left a name in the directory of
// shared memory.
package ranktest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/shm"
)

// Scenario is what a rank's process does; its error, printed, is exit code 1.
type Scenario func(ctx context.Context) error

const scenarioVar = "RANKTEST_SCENARIO"

// Main is a TestMain: in a rank's process it runs the scenario, otherwise the
// tests.
func Main(m *testing.M, scenarios map[string]Scenario) {
	name := os.Getenv(scenarioVar)
	if name == "" {
		os.Exit(m.Run())
	}
	s := scenarios[name]
	if s == nil {
		fmt.Fprintln(os.Stderr, "no scenario", name)
		os.Exit(3)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Watchdog)
	defer cancel()
	if err := s(ctx); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Watchdog ends what hangs; no test judges a time by it. A machine may be slow and
// full of other work, and still a package's tests have five minutes.
const Watchdog = 3 * time.Minute

// Within reports whether something comes true before the watchdog barks.
func Within(f func() bool) bool {
	for end := time.Now().Add(Watchdog); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Interruptible lets SIGINT end the processes that a test starts even where the
// tests themselves do not heed it, as in the background of a script: a child
// keeps what its parent ignores, but not what it catches.
func Interruptible() {
	if signal.Ignored(syscall.SIGINT) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGINT)
	}
}

// ShmDir makes a directory for regions where they usually are, and among the
// temporary files where that is not to be written to.
func ShmDir(pattern string) (string, error) {
	dir, err := os.MkdirTemp(shm.Dir(), pattern)
	if err != nil {
		dir, err = os.MkdirTemp("", pattern)
	}
	return dir, err
}

// Job is a set of rank processes.
type Job struct {
	t     testing.TB
	Name  string
	Ranks []*Rank
}

// Rank is one process of a job.
type Rank struct {
	cmd    *exec.Cmd
	out    lockedBuffer
	once   sync.Once
	waited error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var jobs atomic.Int64

// Start starts n ranks of a job that run the scenario, with extra variables.
func Start(t testing.TB, n int, scenario string, extra ...string) *Job {
	t.Helper()
	j := New(t)
	for r := range n {
		j.Add(r, n, scenario, extra...)
	}
	return j
}

// New is a job without ranks yet.
func New(t testing.TB) *Job {
	j := &Job{t: t, Name: fmt.Sprintf("test-%d-%d", os.Getpid(), jobs.Add(1))}
	t.Cleanup(j.cleanup)
	return j
}

// Add starts one rank.
func (j *Job) Add(rank, size int, scenario string, extra ...string) *Rank {
	j.t.Helper()
	r := &Rank{cmd: exec.Command("/proc/self/exe", "-test.run=^$")}
	r.cmd.Env = append(os.Environ(), scenarioVar+"="+scenario,
		env.KeyJob+"="+j.Name, env.KeyRank+"="+strconv.Itoa(rank), env.KeySize+"="+strconv.Itoa(size), env.KeyWindow+"=64M",
		env.KeyJoinTimeout+"="+Watchdog.String())
	// The race detector's runtime would sleep for a second at every rank's end.
	r.cmd.Env = append(r.cmd.Env, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	r.cmd.Env = append(r.cmd.Env, extra...)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := r.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	j.Ranks = append(j.Ranks, r)
	return r
}

// Pid is the process.
func (r *Rank) Pid() int { return r.cmd.Process.Pid }

// Output is what the rank has printed so far.
func (r *Rank) Output() string { return r.out.String() }

// Signal sends a signal to the rank.
func (r *Rank) Signal(s syscall.Signal) { _ = r.cmd.Process.Signal(s) }

// Stop stops the rank, and returns when all its threads stand still. SIGCONT ends it.
func (r *Rank) Stop(t testing.TB) {
	t.Helper()
	r.Signal(syscall.SIGSTOP)
	if !Within(func() bool { return stopped(r.Pid()) }) {
		t.Fatalf("process %d does not stop", r.Pid())
	}
}

// stopped reports whether all threads of a process are.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if _, state, ok := strings.Cut(string(stat), ") "); err != nil || !ok || !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return len(threads) > 0
}

// Wait waits for the rank's end and returns its exit code, 128+n for signal n.
func (r *Rank) Wait() int {
	r.once.Do(func() {
		stop := time.AfterFunc(Watchdog, func() { _ = r.cmd.Process.Signal(syscall.SIGQUIT) })
		r.waited = r.cmd.Wait()
		stop.Stop()
	})
	ws, _ := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// Await waits until the rank has printed text.
func (r *Rank) Await(t testing.TB, text string) {
	t.Helper()
	if !Within(func() bool { return strings.Contains(r.Output(), text) }) {
		t.Fatalf("rank never said %q; it said:\n%s", text, r.Output())
	}
}

// Wait waits for all ranks and fails the test unless all ended with code 0.
func (j *Job) Wait() {
	j.t.Helper()
	for i, r := range j.Ranks {
		if code := r.Wait(); code != 0 {
			j.t.Errorf("rank %d ended with %d:\n%s", i, code, r.Output())
		}
	}
}

func (j *Job) cleanup() {
	for _, r := range j.Ranks {
		_ = r.cmd.Process.Signal(syscall.SIGCONT)
		_ = r.cmd.Process.Kill()
		r.Wait()
	}
	left, _ := filepath.Glob(filepath.Join(shm.Dir(), shm.Name(j.Name)))
	if len(left) > 0 {
		j.t.Errorf("the job left %v", left)
		for _, f := range left {
			_ = os.Remove(f)
		}
	}
}
