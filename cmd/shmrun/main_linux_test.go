package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
)

// In the scripts of testdata, shmrun is this binary, and so is member, a program
// that joins.
func TestMain(m *testing.M) {
	// bench starts its ranks and what startup starts, and doctor its child, under
	// the name /proc/self/exe, which says nothing to testscript.
	if os.Args[0] == "/proc/self/exe" {
		main()
	}
	testscript.Main(m, map[string]func(){
		"shmrun":    main,
		"member":    member,
		"leavename": leaveName,
		"confine":   func() { os.Exit(ranktest.Confine(os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	ranktest.Interruptible()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Condition:           allowed,
		Setup: func(e *testscript.Env) error {
			dir, err := ranktest.ShmDir("shmrun-test-")
			if err != nil {
				return err
			}
			e.Setenv(env.KeyShmDir, dir)
			tools, err := filepath.Abs("../../tools")
			if err != nil {
				return err
			}
			e.Setenv("TOOLS", tools)
			cpus, err := topo.Usable()
			if err != nil {
				return err
			}
			e.Setenv("CPU", strconv.Itoa(cpus[0]))
			e.Defer(func() {
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Empty(t, left, "names that were left")
				require.NoError(t, os.Remove(dir))
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"lines":   lineCount,
			"until":   until,
			"isjobs":  isJobs,
			"hasname": hasName,
		},
	})
}

// allowed are the conditions [confine:WHAT…]: whether this machine lets programs be
// confined like that; and [cpus]: whether there are several.
func allowed(condition string) (bool, error) {
	if condition == "cpus" {
		return runtime.NumCPU() > 1, nil
	}
	what, ok := strings.CutPrefix(condition, "confine:")
	if !ok {
		return false, fmt.Errorf("no condition %q", condition)
	}
	c := exec.Command("/proc/self/exe", what, "--", "true")
	c.Args[0] = "confine"
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == ranktest.Forbidden {
		return false, nil
	}
	return err == nil, err
}

// exits CODE PROGRAM ARGS… runs a program and wants that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, not %d", code, want)
	}
}

// lines N FILE wants so many lines in stdout or stderr.
func lineCount(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if text := ts.ReadFile(args[1]); strings.Count(text, "\n") != want {
		ts.Fatalf("not %d lines: %q", want, text)
	}
}

// until REGEXP PROGRAM ARGS… runs a program until its output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	wanted, err := regexp.Compile(args[0])
	ts.Check(err)
	if ranktest.Within(func() bool {
		err := ts.Exec(args[1], args[2:]...)
		return err == nil && wanted.MatchString(ts.ReadFile("stdout"))
	}) {
		return
	}
	ts.Fatalf("%q did not come: %s", args[0], ts.ReadFile("stdout"))
}

// isjobs N R wants N jobs of R ranks in the JSON on stdout, as ps documents it.
func isJobs(ts *testscript.TestScript, neg bool, args []string) {
	var jobs []struct {
		Job    string
		Size   int
		Window int64
		Ranks  []struct {
			Rank, Pid int
			Life      string
			Call      struct {
				Op       string
				Sequence uint64
			}
			Waits []struct {
				Missing []int
				Since   time.Duration `json:"since_ns"`
			}
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &jobs))
	if got := strconv.Itoa(len(jobs)); got != args[0] {
		ts.Fatalf("%s jobs", got)
	}
	for _, j := range jobs {
		if j.Job == "" || strconv.Itoa(j.Size) != args[1] || len(j.Ranks) != j.Size || j.Window == 0 {
			ts.Fatalf("%+v", j)
		}
		for r, rank := range j.Ranks {
			if rank.Rank != r || rank.Pid == 0 || rank.Life != "alive" {
				ts.Fatalf("%+v", rank)
			}
			if r > 0 && (rank.Call.Op != "barrier" || rank.Call.Sequence == 0 || len(rank.Waits) != 1 || rank.Waits[0].Since <= 0) {
				ts.Fatalf("%+v", rank)
			}
		}
	}
}

// hasname tells whether a name stands in the directory of regions.
func hasName(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.Getenv(env.KeyShmDir))
	ts.Check(err)
	if (len(entries) > 0) == neg {
		ts.Fatalf("%v", entries)
	}
}

// member joins; then rank 0 does what its argument says and the others wait for
// it in a barrier.
func member() {
	ctx := context.Background()
	w, err := symmem.Join(ctx)
	if err == nil {
		defer w.Close()
		if w.Rank() == 0 && len(os.Args) > 1 {
			switch os.Args[1] {
			case "pause":
				time.Sleep(time.Hour)
			case "panic":
				for !waited(w) {
					time.Sleep(time.Millisecond)
				}
				panic("rank 0's own panic")
			case "vanish":
				os.Exit(3)
			}
		}
		err = w.Team().Barrier(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("rank %d of %d\n", w.Rank(), w.Size())
}

// waited reports whether all other ranks wait by now.
func waited(w *symmem.World) bool {
	found, _ := symmem.Regions()
	for _, f := range found {
		if s, err := symmem.Observe(f.Pid, f.Fd); err == nil && s.Job == w.Job() {
			return !slices.ContainsFunc(s.Ranks, func(r symmem.RankState) bool { return r.Rank != w.Rank() && len(r.Waits) == 0 })
		}
	}
	return false
}

// leaveName leaves a name as a job does that is killed while joining.
func leaveName() {
	_, err := symmem.NewHost(os.Args[1], symmem.Geometry{Size: 2, Window: 64 << 20})
	if err != nil {
		fmt.Fprintln(os.Stderr, err, shm.Dir())
		os.Exit(1)
	}
	os.Exit(0)
}
