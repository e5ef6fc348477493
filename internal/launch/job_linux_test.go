package launch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/topo"
)

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	for _, c := range []struct {
		name    string
		argv    []string
		o       Options
		code    int
		verdict string
	}{
		{name: "good", argv: []string{"true"}, o: Options{N: 3}},
		{name: "default number", argv: []string{"true"}},
		{name: "code", argv: sh("exit 3"), o: Options{N: 1}, code: 3, verdict: "rank 0 exited with code 3"},
		{name: "killed", argv: sh("kill -KILL $$"), o: Options{N: 1}, code: 137, verdict: "rank 0 was killed by SIGKILL"},
		{name: "terminated", argv: sh("kill $$"), o: Options{N: 1}, code: 143, verdict: "rank 0 was killed by SIGTERM"},
		{name: "one of many", argv: sh("test $SYMWIN_RANK != 2 || exit 4; exec sleep 1000"), o: Options{N: 4}, code: 4, verdict: "rank 2 exited with code 4"},
		{name: "good ones first", argv: sh("test $SYMWIN_RANK = 2 || exit 0; exit 4"), o: Options{N: 4}, code: 4, verdict: "rank 2 exited with code 4"},
		{name: "not found", argv: []string{"no-such-program"}, code: 127, verdict: "no-such-program: no such program in $PATH"},
		{name: "no such file", argv: []string{"./no-such"}, code: 127, verdict: "./no-such: no such file"},
		{name: "not executable", argv: []string{file("plain", "", 0o644)}, code: 126, verdict: file("plain", "", 0o644) + ": not executable; see chmod +x"},
		{name: "directory", argv: []string{dir}, code: 126},
		{name: "no format", argv: []string{file("noformat", "echo\n", 0o755)}, code: 126},
		{name: "no interpreter", argv: []string{file("nointerpreter", "#!/no/such\n", 0o755)}, code: 127},
		{name: "nothing", argv: nil, code: 2, verdict: "no program to run"},
		{name: "too many", argv: []string{"true"}, o: Options{N: 1025}, code: 2, verdict: "1025 ranks: a job has 1 to 1024"},
		{name: "negative", argv: []string{"true"}, o: Options{N: -1}, code: 2, verdict: "-1 ranks: a job has 1 to 1024"},
		{name: "small window", argv: []string{"true"}, o: Options{Window: 4096}, code: 2},
		{name: "bad setting", argv: []string{"true"}, o: Options{Env: []string{"X"}}, code: 2, verdict: `"X" is no NAME=VALUE`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, out, errs := play(t, c.o, c.argv...)
			require.Equal(t, c.code, r.ExitCode, errs)
			require.Empty(t, out)
			if c.verdict != "" || c.code == 0 {
				require.Equal(t, c.verdict, r.Verdict)
			}
			if c.code == 0 {
				require.Empty(t, errs)
			} else {
				require.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
			}
		})
	}
	t.Run("bad variable", func(t *testing.T) {
		t.Setenv(env.KeyWindow, "much")
		r, _, _ := play(t, Options{N: 1}, "true")
		require.Equal(t, 2, r.ExitCode)
		require.Equal(t, `SYMWIN_WINDOW: "much" is no size: write 4096, 64K, 16M or 1G`, r.Verdict)
	})
	for _, name := range []string{env.KeyStall, env.KeyStallReport, env.KeyJoinTimeout, env.KeyLiveness} {
		r, _, errs := play(t, Options{N: 2, Env: []string{name + "=x"}}, sh("echo it was started")...)
		require.Equal(t, 2, r.ExitCode, errs)
		require.Contains(t, r.Verdict, name+`: "x"`)
		t.Setenv(name, "") // means the default
	}
	r, _, errs := play(t, Options{N: 2}, "true")
	require.Equal(t, 0, r.ExitCode, errs)
}

func TestGoodJob(t *testing.T) {
	o, argv := self(Options{N: 3}, "member", "close")
	r, _, errs := play(t, o, argv...)
	require.Equal(t, Result{Rank: -1}, r, errs)
	require.Empty(t, errs)
}

// The first cause is the rank that died, not one of those that heard of it and
// were reaped earlier.
func TestFirstCause(t *testing.T) {
	for range 5 {
		o, argv := self(Options{N: 4}, "member", "2:kill")
		r, _, errs := play(t, o, argv...)
		require.Equal(t, 137, r.ExitCode, errs)
		require.Equal(t, 2, r.Rank)
		require.Contains(t, r.Verdict, "rank 2 was killed by SIGKILL; ")
		_, others, _ := strings.Cut(r.Verdict, "; ")
		told := 0
		for phrase := range strings.SplitSeq(others, "; ") {
			parts := regexp.MustCompile(`^ranks? ([0-9,-]+) waited in barrier #1 on team 0 for ranks? [0-9,-]*2`).FindStringSubmatch(phrase)
			require.NotNil(t, parts, phrase)
			ranks, err := topo.ParseList(parts[1])
			require.NoError(t, err)
			told += len(ranks)
		}
		require.Equal(t, 3, told, r.Verdict)
	}
}

// A rank that leaves by itself is the cause, not one that ended because of it,
// nor is what different calls have led to the cause of anything.
func TestFirstCauseAmongVictims(t *testing.T) {
	for range 5 {
		o, argv := self(Options{N: 3}, "member", "1:exit5")
		r, _, errs := play(t, o, argv...)
		require.Equal(t, 5, r.ExitCode, errs)
		require.Equal(t, 1, r.Rank)
		require.Contains(t, r.Verdict, "rank 1 exited with code 5; ")
		require.Regexp(t, "rank.* waited in barrier #1 on team 0 for rank", r.Verdict)

		o, argv = self(Options{N: 3}, "member", "1:split")
		r, _, errs = play(t, o, argv...)
		require.Equal(t, 1, r.ExitCode, errs)
		require.Regexp(t, `^rank \d gave up \(mismatch: .*split #1`, r.Verdict)
	}
}

// A stall is a time-out of the job, whatever its ranks make of it.
func TestStall(t *testing.T) {
	o, argv := self(Options{N: 3, Stall: 300 * time.Millisecond}, "member", "1:pause")
	r, _, errs := play(t, o, argv...)
	require.Equal(t, 124, r.ExitCode, errs)
	require.Regexp(t, `^rank [02] gave up \(timeout: barrier #1 .* for (rank 1|ranks 0, 1|ranks 1, 2)\b`, r.Verdict)
}

// Of ranks that have left in order nothing is told.
func TestOthersLeftInOrder(t *testing.T) {
	o, argv := self(Options{N: 3}, "member", "0:late2")
	r, _, errs := play(t, o, argv...)
	require.Equal(t, 2, r.ExitCode, errs)
	require.Equal(t, "rank 0 exited with code 2", r.Verdict)
}

// Killed at any moment of joining, the rank is the one that is named, and the
// others do not wait for it.
func TestRankKilledWhileJoining(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 8 {
		delay := time.Duration(random.IntN(15_000)) * time.Microsecond
		o, argv := self(Options{N: 4}, "member", "2:killsoon", delay.String())
		r, _, errs := play(t, o, argv...)
		require.Equal(t, 137, r.ExitCode, "%v: %s", delay, errs)
		require.Equal(t, 2, r.Rank, "%v: %s", delay, errs)
		nothingLeft(t)
	}
}

// To its parent all was well, to its peers it died.
func TestLeftWithoutClosing(t *testing.T) {
	o, argv := self(Options{N: 3}, "member", "1:leave0")
	r, _, errs := play(t, o, argv...)
	require.Equal(t, 1, r.ExitCode, errs)
	require.Equal(t, 1, r.Rank)
	require.Contains(t, r.Verdict, "rank 1 exited with code 0 but never closed its world; ")
}

func TestAllForgetToClose(t *testing.T) {
	o, argv := self(Options{N: 3}, "member", "forget")
	r, _, errs := play(t, o, argv...)
	require.Equal(t, 0, r.ExitCode, errs)
	require.Equal(t, "ranks 0-2 exited with code 0 but never closed the world (defer w.Close())", r.Verdict)
}

// The join timeout is 30 s; that it is not waited for shows in the error.
func TestExitBeforeJoining(t *testing.T) {
	o, argv := self(Options{N: 3}, "member", "1:absent")
	r, _, errs := play(t, o, argv...)
	require.Equal(t, 1, r.ExitCode)
	require.Equal(t, 1, r.Rank, errs)
	require.Contains(t, r.Verdict, "rank 1 exited with code 0 before joining")
	require.Contains(t, errs, "rank 1", "the others are told who")
}

func TestProgramAborts(t *testing.T) {
	o, argv := self(Options{N: 3}, "member", "1:abort")
	r, _, errs := play(t, o, argv...)
	require.Equal(t, 5, r.ExitCode, errs)
	require.Equal(t, 1, r.Rank)
	require.Contains(t, r.Verdict, "rank 1 gave up (abort: the soup is cold) and exited with code 5; ")
}

// timingOut tries with longer and longer timeouts, until the ranks have come so far
// within one that they do as they should.
func timingOut(t *testing.T, try func(timeout time.Duration) bool) {
	t.Helper()
	for timeout := 300 * time.Millisecond; timeout < watchdog/4; timeout *= 3 {
		if try(timeout) {
			return
		}
	}
	require.Fail(t, "never")
}

func TestTimeout(t *testing.T) {
	t.Run("a Go program shows its stacks", func(t *testing.T) {
		timingOut(t, func(timeout time.Duration) bool {
			o, argv := self(Options{N: 2, Timeout: timeout}, "member", "0:pause")
			r, _, errs := play(t, o, argv...)
			require.Equal(t, 124, r.ExitCode)
			require.Contains(t, r.Verdict, fmt.Sprintf("timed out after %v (--timeout)", timeout))
			return strings.Contains(errs, "goroutine ")
		})
	})
	t.Run("all ranks show theirs, also those that wait for the first", func(t *testing.T) {
		timingOut(t, func(timeout time.Duration) bool {
			o, argv := self(Options{N: 4, Timeout: timeout}, "member", "0:pause")
			_, _, errs := play(t, o, argv...)
			return strings.Count(errs, "SIGQUIT: quit") == 4
		})
	})
	t.Run("one rank after another", func(t *testing.T) {
		timingOut(t, func(timeout time.Duration) bool {
			_, out, _ := play(t, Options{N: 3, Timeout: timeout},
				sh("trap 'for i in 1 2 3 4; do echo $SYMWIN_RANK; sleep 0.01; done; exit' QUIT; while :; do sleep 0.01; done")...)
			return strings.ReplaceAll(out, "\n", "") == "000011112222"
		})
	})
	t.Run("nothing is ignored for ever", func(t *testing.T) {
		o, argv := self(Options{N: 2, Timeout: 300 * time.Millisecond}, "stubborn")
		r, _, _ := play(t, o, argv...)
		require.Equal(t, 124, r.ExitCode)
		require.Equal(t, "timed out after 300ms (--timeout)", r.Verdict)
		nothingLeft(t)
	})
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var out notifier
	out.on = func() { cancel(fmt.Errorf("enough")) }
	o, argv := self(Options{N: 2, Stdout: &out}, "member", "pause")
	r := Run(ctx, o, argv)
	require.Equal(t, 143, r.ExitCode)
	require.Equal(t, 0, strings.Index(r.Verdict, "cancelled (enough)"))
}

// notifier calls on at the first output.
type notifier struct {
	once sync.Once
	on   func()
}

func (n *notifier) Write(p []byte) (int, error) { n.once.Do(n.on); return len(p), nil }

// The end of a job, good or bad, takes along what the ranks had started and does
// not wait for it.
func TestGrandchildren(t *testing.T) {
	t.Run("bad end", func(t *testing.T) {
		r, out, _ := play(t, Options{N: 3}, sh("sleep 1000 & echo $!; test $SYMWIN_RANK = 1 && exit 9; wait")...)
		require.Equal(t, 9, r.ExitCode)
		require.NotEmpty(t, out)
		nothingLeft(t)
	})
	t.Run("good end with a tagged pipe held open", func(t *testing.T) {
		r, out, _ := play(t, Options{N: 2, TagOutput: true}, sh("sleep 1000 & echo $!")...)
		require.Equal(t, 0, r.ExitCode)
		require.Equal(t, 2, strings.Count(out, "\n"))
		nothingLeft(t)
	})
	t.Run("good end with a tagged pipe being filled", func(t *testing.T) {
		var out bytes.Buffer
		r := Run(t.Context(), Options{N: 1, TagOutput: true, Stdout: &out}, sh("yes & echo $! >&2; exec sleep 0.2"))
		require.Equal(t, 0, r.ExitCode)
		nothingLeft(t) // yes met the broken pipe
	})
}

func TestStdin(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // sixteen pipes full
	want := func(t *testing.T, r Result, out, errs string) {
		require.Equal(t, 0, r.ExitCode, errs)
		require.True(t, out == string(text), "%d bytes came back", len(out))
		got := strings.Fields(errs)
		slices.Sort(got)
		require.Equal(t, []string{"0:" + strconv.Itoa(len(text)), "1:0", "2:0"}, got)
	}
	t.Run("reader", func(t *testing.T) {
		o, argv := self(Options{N: 3, Stdin: bytes.NewReader(text)}, "echo")
		r, out, errs := play(t, o, argv...)
		want(t, r, out, errs)
	})
	t.Run("file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "input")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		o, argv := self(Options{N: 3, Stdin: f}, "echo")
		r, out, errs := play(t, o, argv...)
		want(t, r, out, errs)
	})
	t.Run("pipe", func(t *testing.T) {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		defer read.Close()
		go func() {
			write.Write(text)
			write.Close()
		}()
		o, argv := self(Options{N: 3, Stdin: read}, "echo")
		r, out, errs := play(t, o, argv...)
		want(t, r, out, errs)
	})
	t.Run("one that never ends keeps nobody", func(t *testing.T) {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		defer read.Close()
		defer write.Close()
		r, _, _ := play(t, Options{N: 2, Stdin: read}, "true")
		require.Equal(t, 0, r.ExitCode)
	})
	t.Run("one that nobody reads is left alone", func(t *testing.T) {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		defer read.Close()
		// Rank 0 closes its input, and says so; what is written from then on
		// must stay where it is.
		out := &notifier{on: func() { write.Write([]byte("for the next\n")); write.Close() }}
		r := Run(t.Context(), Options{N: 1, Stdin: read, Stdout: out}, sh("exec <&-; echo closed; exec sleep 0.3"))
		require.Equal(t, 0, r.ExitCode)
		rest, err := io.ReadAll(read)
		require.NoError(t, err)
		require.Equal(t, "for the next\n", string(rest))
	})
}

// wholeLines checks that every Write brings whole lines only.
type wholeLines struct {
	t *testing.T
	bytes.Buffer
}

func (w *wholeLines) Write(p []byte) (int, error) {
	require.True(w.t, len(p) > 0 && p[len(p)-1] == '\n')
	return w.Buffer.Write(p)
}

func TestTaggedOutput(t *testing.T) {
	const ranks, each = 6, 1500
	outputs := []*wholeLines{{t: t}, {t: t}}
	o, argv := self(Options{N: ranks, TagOutput: true, Stdout: outputs[0], Stderr: outputs[1]}, "lines", strconv.Itoa(each))
	require.Equal(t, Result{Rank: -1}, Run(t.Context(), o, argv))
	for i, output := range outputs {
		seen := make([]int, ranks)
		for line := range strings.Lines(output.String()) {
			tag, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			require.True(t, ok)
			rank, err := strconv.Atoi(strings.Trim(tag, "[]"))
			require.NoError(t, err)
			if seen[rank] == each {
				require.Equal(t, "no end", text)
			} else {
				require.Equal(t, numbered(rank, i, seen[rank]), text)
			}
			seen[rank]++
		}
		require.Equal(t, slices.Repeat([]int{each + 1}, ranks), seen, "output %d", i)
	}
}

// Whoever reads our output goes away: the ranks meet a broken pipe, as without
// tagging.
func TestOutputClosed(t *testing.T) {
	for _, tag := range []bool{false, true} {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		r := Run(t.Context(), Options{N: 2, TagOutput: tag, Stdout: write}, []string{"yes"})
		require.NoError(t, write.Close())
		require.NotZero(t, r.ExitCode)
		require.Contains(t, r.Verdict, "rank ")
	}
}

func TestBinding(t *testing.T) {
	machine, err := topo.Here()
	require.NoError(t, err)
	for _, policy := range []topo.Policy{topo.Share, topo.Core, topo.NUMA, topo.None} {
		for _, n := range []int{1, 2, 3} {
			o := Options{N: n, BindTo: policy, ReportBindings: true}
			r, out, errs := play(t, o, sh("echo $SYMWIN_RANK $(grep Cpus_allowed_list /proc/self/status)")...)
			require.Equal(t, 0, r.ExitCode)
			plan := machine.Plan(policy, n)
			if plan == nil {
				require.Contains(t, errs, "not bound")
				plan = slices.Repeat(topo.Plan{machine.Plan(topo.Share, 1)[0]}, n)
			} else {
				require.Equal(t, n, strings.Count(errs, "CPUs"))
			}
			for rank, ids := range plan {
				require.Contains(t, out, fmt.Sprintf("%d Cpus_allowed_list: %s\n", rank, topo.FormatList(ids)), "%s, %d ranks", policy, n)
			}
		}
	}
	// Bound before exec: a Go program sizes itself after it.
	o, argv := self(Options{N: 2, BindTo: topo.Core}, "cpus")
	_, out, _ := play(t, o, argv...)
	require.Equal(t, 2, strings.Count(out, fmt.Sprintf("GOMAXPROCS %d\n", len(machine.Plan(topo.Core, 1)[0]))), out)

	// No thread of the launcher stays bound.
	files, err := filepath.Glob("/proc/self/task/*/status")
	require.NoError(t, err)
	for _, f := range files {
		status, err := os.ReadFile(f)
		if err == nil {
			require.Contains(t, string(status), "Cpus_allowed_list:\t"+topo.FormatList(machine.Plan(topo.Share, 1)[0])+"\n")
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("LAUNCH_A", "inherited")
	t.Setenv("LAUNCH_B", "inherited")
	t.Setenv(env.KeyRank, "7")
	t.Setenv(env.KeyStall, "5m")
	r, out, _ := play(t, Options{N: 1, Stall: -1, StallReport: 90 * time.Second, Window: 64 << 20,
		Env: []string{"LAUNCH_A=first", "LAUNCH_A=a=b", "LAUNCH_C="}}, "env")
	require.Equal(t, 0, r.ExitCode)
	got := strings.Split(out, "\n")
	for _, want := range []string{"LAUNCH_A=a=b", "LAUNCH_B=inherited", "LAUNCH_C=", "SYMWIN_RANK=0", "SYMWIN_SIZE=1",
		"SYMWIN_STALL=0s", "SYMWIN_STALL_REPORT=1m30s", "SYMWIN_WINDOW=64M"} {
		require.Contains(t, got, want)
		name, _, _ := strings.Cut(want, "=")
		require.Equal(t, 1, strings.Count("\n"+out, "\n"+name+"="), "%s stands there once", name)
	}
}

func TestSeveralJobsAtOnce(t *testing.T) {
	var all sync.WaitGroup
	results := make([]Result, 4)
	for i := range results {
		all.Go(func() {
			o, argv := self(Options{N: 2}, "member", "close")
			if i == 3 {
				o, argv = Options{N: 2}, sh("exit 3")
			}
			results[i] = Run(t.Context(), o, argv)
		})
	}
	all.Wait()
	for i, r := range results {
		require.Equal(t, map[bool]int{true: 3}[i == 3], r.ExitCode, r.Verdict)
	}
}
