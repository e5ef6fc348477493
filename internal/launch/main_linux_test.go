package launch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	"go.uber.org/goleak"
)

// The test binary plays all parts: with roleVar set it is a rank, or a launcher
// that can be killed. Everything that comes from here carries markVar, so that
// what is left over can be found among all processes.
const (
	roleVar = "LAUNCH_TEST_ROLE"
	markVar = "LAUNCH_TEST_MARK"
)

// watchdog bounds whatever must happen at some time. It judges no speed.
const watchdog = ranktest.Watchdog

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		os.Unsetenv(roleVar)
		os.Exit(roles[role](os.Args[1:]))
	}
	os.Exit(func() int {
		dir, err := ranktest.ShmDir("launch-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		os.Setenv(env.KeyShmDir, dir)
		os.Setenv(markVar, strconv.Itoa(os.Getpid()))
		ranktest.Interruptible()
		before := descriptors()
		code := m.Run()
		for what, left := range map[string]any{"processes": marked(), "names": names(), "goroutines": goleak.Find()} {
			if s := fmt.Sprint(left); s != "[]" && s != "<nil>" {
				fmt.Fprintf(os.Stderr, "FAIL: left over %s: %s\n", what, s)
				code = 1
			}
		}
		if after := descriptors(); after > before {
			fmt.Fprintf(os.Stderr, "FAIL: %d descriptors before the tests, %d after\n", before, after)
			code = 1
		}
		return code
	}())
}

func descriptors() int {
	// The first poller's descriptors stay open for ever.
	r, w, _ := os.Pipe()
	r.Close()
	w.Close()
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// names lists what stands in the directory of regions.
func names() []string {
	entries, _ := os.ReadDir(os.Getenv(env.KeyShmDir))
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// marked lists the living processes, other than this one, that descend from it.
func marked() []string {
	out := []string{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		environ, _ := os.ReadFile(f)
		pid := filepath.Base(filepath.Dir(f))
		if bytes.Contains(environ, []byte(markVar+"="+os.Getenv(markVar)+"\x00")) && pid != strconv.Itoa(os.Getpid()) {
			cmdline, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			out = append(out, pid+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
		}
	}
	return out
}

// nothingLeft waits until no process and no name is left.
func nothingLeft(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return len(marked()) == 0 && len(names()) == 0 }, func() any { return []any{marked(), names()} })
}

func eventually(t *testing.T, condition func() bool, state func() any) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(start) > watchdog {
			require.FailNow(t, "it did not come true", "%v", state())
		}
	}
}

// self is this binary in a role, as a program to be run.
func self(o Options, role string, args ...string) (Options, []string) {
	o.Env = append(o.Env, roleVar+"="+role)
	return o, append([]string{"/proc/self/exe"}, args...)
}

// play runs ranks in a role in this process and collects what they write.
func play(t *testing.T, o Options, argv ...string) (r Result, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	o.Stdout, o.Stderr = &out, &errs
	ctx, stop := context.WithTimeout(t.Context(), watchdog)
	defer stop()
	r = Run(ctx, o, argv)
	if r.Verdict != "" {
		require.Contains(t, errs.String(), "shmrun: "+r.Verdict+"\n")
	}
	return r, out.String(), errs.String()
}

func sh(script string) []string { return []string{"sh", "-c", script} }

var roles = map[string]func(args []string) int{
	"launcher": launcher,
	"member":   member,
	"cpus":     cpus,
	"signals":  signals,
	"stubborn": stubborn,
	"lines":    lines,
	"echo":     echo,
	"shell":    shell,
}

// launcher runs ranks: "N ROLE ARGS…" in a role, or "N -- PROGRAM ARGS…".
func launcher(args []string) int {
	o := Options{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	o.N, _ = strconv.Atoi(args[0])
	argv := args[2:]
	if args[1] != "--" {
		o, argv = self(o, args[1], args[2:]...)
	}
	return Run(context.Background(), o, argv).ExitCode
}

// member joins and then does what its first word says; a word with a rank before
// it ("2:kill") is for that rank only, and the others wait in a barrier.
func member(args []string) int {
	what, rank := args[0], os.Getenv(env.KeyRank)
	if who, w, only := strings.Cut(what, ":"); only {
		if what = "barrier"; who == rank {
			what = w
		}
	}
	if what == "absent" {
		return 0
	}
	if what == "killsoon" {
		delay, _ := time.ParseDuration(args[1])
		time.AfterFunc(delay, func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
	w, err := symmem.Join(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	switch what {
	case "close":
		defer w.Close()
		if err = w.Team().Barrier(ctx); err == nil {
			err = w.Team().Barrier(ctx)
		}
	case "forget":
		err = w.Team().Barrier(ctx)
	case "kill":
		waitForBarrier(w)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "leave0":
		waitForBarrier(w)
		return 0
	case "abort":
		w.Abort(errors.New("the soup is cold"))
		return 5
	case "split":
		waitForBarrier(w)
		_, err = w.Team().Split(ctx, 0, 0)
	case "exit5":
		waitForBarrier(w)
		return 5
	case "late2":
		_ = w.Team().Barrier(ctx)
		waitForOthers(w, func(r symmem.RankState) bool { return r.Life == symmem.Left })
		w.Close()
		return 2
	case "barrier":
		defer w.Close()
		err = w.Team().Barrier(ctx)
		if err == nil {
			fmt.Println("passed")
		}
	case "pause", "killsoon":
		fmt.Println("joined")
		pause()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// waitForBarrier returns when all other ranks are seen waiting in their barrier.
func waitForBarrier(w *symmem.World) {
	waitForOthers(w, func(r symmem.RankState) bool { return len(r.Waits) > 0 })
}

// waitForOthers returns when all other ranks are seen to be as wanted.
func waitForOthers(w *symmem.World, want func(symmem.RankState) bool) {
	for {
		found, _ := symmem.Regions()
		for _, f := range found {
			s, err := symmem.Observe(f.Pid, f.Fd)
			if err != nil || s.Job != w.Job() {
				continue
			}
			if !slices.ContainsFunc(s.Ranks, func(r symmem.RankState) bool { return r.Rank != w.Rank() && !want(r) }) {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// pause waits to be killed; an empty select would be a deadlock to the runtime.
func pause() {
	for {
		time.Sleep(time.Hour)
	}
}

func cpus([]string) int {
	fmt.Println("GOMAXPROCS", runtime.GOMAXPROCS(0))
	return 0
}

// signals tells which signals arrive, until SIGTERM.
func signals([]string) int {
	c := make(chan os.Signal, 100)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGURG, syscall.SIGWINCH)
	fmt.Println("ready")
	for s := range c {
		if s == syscall.SIGURG {
			continue // the runtime's own, to itself
		}
		fmt.Println(s)
		if s == syscall.SIGTERM {
			return 7
		}
	}
	return 0
}

// stubborn survives what can be survived, and has a child that does too.
func stubborn(args []string) int {
	signal.Ignore(syscall.SIGHUP, syscall.SIGQUIT)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, syscall.SIGINT, syscall.SIGTERM)
	if len(args) > 0 {
		for range interrupts {
		}
	}
	child := exec.Command("/proc/self/exe", "child")
	child.Env = append(os.Environ(), roleVar+"=stubborn")
	if err := child.Start(); err != nil {
		return 1
	}
	fmt.Println("ready")
	for range interrupts {
		fmt.Println("interrupted")
	}
	return 0
}

// lines writes args[0] numbered lines to both outputs, in pieces cut anywhere.
func lines(args []string) int {
	n, _ := strconv.Atoi(args[0])
	rank, _ := strconv.Atoi(os.Getenv(env.KeyRank))
	var all sync.WaitGroup
	for i, f := range []*os.File{os.Stdout, os.Stderr} {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(rank), uint64(i)))
			var text []byte
			for k := range n {
				text = append(text, numbered(rank, i, k)+"\n"...)
			}
			text = append(text, "no end"...)
			for len(text) > 0 {
				piece := min(1+random.IntN(900), len(text))
				f.Write(text[:piece])
				text = text[piece:]
			}
		})
	}
	all.Wait()
	return 0
}

func numbered(rank, output, k int) string {
	return fmt.Sprintf("%d %d %d %s", rank, output, k, strings.Repeat("x", (rank*31+k*17)%300))
}

// echo copies its input and adds how many bytes there were.
func echo([]string) int {
	n, _ := io.Copy(os.Stdout, os.Stdin)
	fmt.Fprintf(os.Stderr, "%s:%d\n", os.Getenv(env.KeyRank), n)
	return 0
}

// child is a launcher that can be watched and killed.
type child struct {
	*exec.Cmd
	out   *bufio.Reader
	stdin io.WriteCloser
}

func startLauncher(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command("/proc/self/exe", args...)}
	c.Env = append(os.Environ(), roleVar+"=launcher")
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	c.stdin, err = c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewReader(out)
	require.NoError(t, c.Start())
	return c
}

// expect reads n lines and returns them.
func (c *child) expect(t *testing.T, n int) []string {
	t.Helper()
	got, err := c.lines(n)
	require.NoError(t, err, "%q", got)
	return got
}

func (c *child) lines(n int) (got []string, err error) {
	timer := time.AfterFunc(watchdog, func() { c.Process.Kill() })
	defer timer.Stop()
	for range n {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return got, err
		}
		got = append(got, strings.TrimSpace(line))
	}
	return got, nil
}

// end waits for the launcher and returns its exit code.
func (c *child) end(t *testing.T) int {
	t.Helper()
	timer := time.AfterFunc(watchdog, func() { c.Process.Kill() })
	defer timer.Stop()
	rest, err := io.ReadAll(c.out)
	require.NoError(t, err)
	if len(rest) > 0 {
		t.Logf("more output: %q", rest)
	}
	_ = c.Wait()
	return c.ProcessState.ExitCode()
}
