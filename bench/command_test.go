//go:build linux

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/internal/shm"
)

// shmrunBench runs "shmrun bench" with ranks that are processes.
func shmrunBench(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	var out, errs bytes.Buffer
	code = Main(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

func rowsOf(t *testing.T, text string) (rows []Row) {
	t.Helper()
	meta, text, _ := strings.Cut(text, "\n")
	require.Contains(t, meta, `{"meta":{"host":`)
	for line := range strings.Lines(text) {
		var r Row
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&r), "%s", line)
		rows = append(rows, r)
	}
	return rows
}

func TestOperationsBetweenProcesses(t *testing.T) {
	for line, rows := range map[string]int{
		"barrier -i 1 -n 3": 1,
		"-b 8 latency -n 2 -e 4K -f 8 -i 100 --touch full":                             4,
		"alltoall --ranks 3 --min 1 --max 2K --factor 64 -i 10 --touch read":           3,
		"--engine ce alltoall -np 2 -b 64K -e 64K -i 1 --dst private --bind-to none":   1,
		"--tag-output osu_alltoall --engine ll64 -n 5 -m 100:100 -i 1 --backing memfd": 1,
		"alltoallv-skewed -n 3 -m 1K -f 1024 -i 1 --touch full -c off":                 2,
		"bw -b 64 -e 4K -f 64 -i 1 -w 3":                                               2,
		"bibw -b 64 -e 64 -i 1 --stall 5":                                              1,
		"put -n 4 -b 64 -e 64 -i 1":                                                    1,
		"rate -b 64 -e 64 -i 1":                                                        1,
		"startup -n 2 -i 1":                                                            1,
		"wait -n 4 -i 1":                                                               10,
	} {
		t.Run(line, func(t *testing.T) {
			code, stdout, stderr := shmrunBench(t, append(strings.Fields(line), "--reps", "1", "--format", "json")...)
			require.Zero(t, code, stderr)
			require.Empty(t, stderr)
			got := rowsOf(t, stdout)
			require.Len(t, got, rows)
			for _, r := range got {
				if strings.Contains(line, "-c off") || r.Op == "startup" || r.Op == "wait" {
					require.Nil(t, r.Wrong, "nothing is compared")
				} else {
					require.Zero(t, *r.Wrong)
				}
				require.Positive(t, r.P50)
				require.Positive(t, r.OpsPerBlock)
				require.NotEmpty(t, r.State)
				if r.Ranks > 1 && r.Op != "wait" && runtime.NumCPU() > 1 {
					require.NotEqual(t, "-", r.State, "it was looked at")
				}
			}
		})
	}
}

func TestLimitsAreMeasured(t *testing.T) {
	code, stdout, stderr := shmrunBench(t, "limits", "-e", "4K", "-i", "1", "--reps", "1", "--format", "json")
	require.Zero(t, code, stderr)
	seen := map[string]bool{}
	for _, r := range rowsOf(t, stdout) {
		what, _, _ := strings.Cut(r.Engine, " ")
		seen[what] = true
		require.Positive(t, r.P50)
		if what == copying {
			require.Zero(t, *r.Wrong)
		} else {
			require.Nil(t, r.Wrong, "nothing is compared")
		}
	}
	for _, what := range []string{yielding, sleeping, copying, clock} {
		require.True(t, seen[what], "no row for %s in\n%s", what, stdout)
	}
}

func TestWrongBytesEndInExitCodeOne(t *testing.T) {
	code, stdout, stderr := shmrunBench(t, "alltoall", "-n", "2", "-b", "64", "-e", "64", "-i", "1", "--reps", "2", "--format", "json", "-x", tamperVariable+"=1")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "arrived wrong")
	rows := rowsOf(t, stdout)
	require.Len(t, rows, 1)
	require.Positive(t, *rows[0].Wrong)
}

func TestTheTableTellsWhatIsMeasured(t *testing.T) {
	code, stdout, stderr := shmrunBench(t, "barrier", "-n", "2", "-i", "1", "--reps", "1", "--tails")
	require.Zero(t, code, stderr)
	for _, want := range []string{"# barrier: ", "# 2 ranks, ", "engine auto", "µs", "of limit", "single operations"} {
		require.Contains(t, stdout, want)
	}
	rows := 0
	for line := range strings.Lines(stdout) {
		if !strings.HasPrefix(line, "#") {
			rows++
		}
	}
	require.Equal(t, 1, rows, stdout)
}

func TestWhatCannotBeMeasuredIsSaidInOneLine(t *testing.T) {
	for line, want := range map[string]string{
		"":                                         "no operation",
		"dance":                                    `no operation "dance"; there are latency, bw,`,
		"latency barrier":                          "one operation at a time",
		"latency --frob":                           "unknown flag: --frob",
		"latency -n 3":                             "must be even, not 3",
		"latency -n 1":                             "at least 2 ranks",
		"alltoall -n 0":                            "1 to 1024 ranks",
		"alltoall -n 1025":                         "1 to 1024 ranks",
		"alltoall -b 1M -e 64K":                    "--min 1M is more than --max 64K",
		"barrier -b 1M -e 64K":                     "--min 1M is more than --max 64K",
		"alltoall -b 0":                            "1 byte to",
		"alltoall -b 8X":                           `"8X" is no size`,
		"alltoall -f 1":                            "2 or more",
		"latency -i 0":                             "1 or more",
		"latency -i -5":                            "1 or more",
		"alltoall --engine rocket":                 `no engine "rocket"; it has auto, ll64, ce, bcopy and views`,
		"barrier --engine ce":                      `no engine "ce"; it has auto`,
		"alltoall --format xml":                    "there are table, json, csv and gobench",
		"alltoall --dst moon":                      "there are window and private",
		"alltoall --touch it":                      "there are none, read and full",
		"alltoall --reps 0":                        "1 or more",
		"alltoall --peer openmpi,nccl":             `--peer "nccl" is no peer; there are openmpi, mpich,`,
		"alltoall --engine views":                  "give --touch read or full",
		"gather --engine views --touch read":       `no engine "views"; it has auto, ll64, ce and bcopy`,
		"rate -b 7 -e 7":                           "not 7; take sizes among these",
		"latency --dst private":                    "leave out --dst",
		"startup --tails":                          "leave out --tails",
		"barrier -b 8":                             "barrier has no sizes",
		"alltoall -m :":                            "no size and no range",
		"alltoall --inplace":                       "cannot be done in place",
		"barrier --touch read":                     "no data that a program could touch",
		"limits --peer unix":                       "leave out --peer",
		"barrier --out=":                           `--out "" is no name of a file`,
		"barrier --out /proc/version/x":            "--out: open /proc/version/x",
		"latency -m 1M:64K":                        "--min 1M is more than --max 64K",
		"rate -e 16K":                              "8192 bytes, not 16384",
		"latency --engine ll16 -e 16K":             "8192 bytes, not 16384",
		"alltoall -n 2 -b 64M -e 64M --window 16M": "need 13",
		"bw -n 2 -b 64M -e 64M":                    "need 4295",
		"alltoall -n 2 -e 512G --window 512G":      "does not fit the window",
		"alltoall -n 2 -b 512G --dst private":      "does not fit the memory",
		"alltoall -n 2 -b 1T -e 1T --engine ll64 --window 1T": "does not fit the window",
	} {
		t.Run(line, func(t *testing.T) {
			code, stdout, stderr := shmrunBench(t, strings.Fields(line)...)
			require.Equal(t, exitUsage, code, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, want)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

func TestASharedMemoryFileSystemThatIsTooSmallIsToldBefore(t *testing.T) {
	c := config{Ranks: 2, Window: 1 << 30}
	j := &job{config: c, request: &request{engine: auto, dst: dstWindow}, op: allToAll}
	for _, j.shm = range []int64{0, 4 << 20} { // a full one, too
		require.ErrorContains(t, allToAll.carries(j, j.task(1<<20)), "does not fit "+shm.Dir())
	}
	for _, j.shm = range []int64{16 << 20, -1} {
		require.NoError(t, allToAll.carries(j, j.task(1<<20)))
	}
}

// A measurement without ranks ends by a signal as one with ranks does.
func TestStartsEndByASignal(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	var stderr bytes.Buffer
	c := exec.CommandContext(ctx, "/proc/self/exe", "bench", "startup", "-n", "1", "-i", "1000000", "--reps", "1")
	c.Stderr = &stderr
	require.NoError(t, c.Start())
	require.True(t, ranktest.Within(func() bool { // a start is measured
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.Process.Pid))
		return slices.ContainsFunc(lists, func(list string) bool {
			children, _ := os.ReadFile(list)
			return slices.ContainsFunc(strings.Fields(string(children)), func(pid string) bool {
				command, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				return bytes.HasSuffix(command, []byte("\x00true\x00"))
			})
		})
	}))
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Error(t, c.Wait())
	require.Equal(t, 128+15, c.ProcessState.ExitCode(), stderr.String())
	require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
}

// What is compared takes memory of its own.
func TestTheMemoryOfTheLimitCounts(t *testing.T) {
	have, ok := memoryRoom()
	if !ok {
		t.Skip("the memory is not known")
	}
	c := config{Ranks: 2, CPUs: []int{0, 1}, Window: maxSize}
	j := &job{config: c, request: &request{engine: auto, dst: dstWindow}, op: allToAll, shm: -1}
	size := have / 12 // 2 ranks: 8 × size of ours, and as much for the limit
	require.ErrorContains(t, allToAll.carries(j, j.task(size)), "does not fit the memory")
	require.NoError(t, allToAll.carries(j, j.task(size/4)))
}

// Sizes that nobody asked for do not stand in the way.
func TestDefaultSizesAreThoseThatFit(t *testing.T) {
	for line, most := range map[string]int64{
		"latency --engine ll16":     maxElement,
		"alltoall -n 2 --window 2M": 512 << 10,
		"alltoall -b 4M":            4 << 20,
		"alltoall -e 4":             4,
		"alltoall -n 2":             1 << 20,
	} {
		q, err := parse(strings.Fields(line))
		require.NoError(t, err)
		j, err := q.job()
		require.NoError(t, err, line)
		require.Equal(t, most, j.sizes[len(j.sizes)-1], line)
	}
}

func TestHelp(t *testing.T) {
	code, stdout, stderr := shmrunBench(t, "--help")
	require.Zero(t, code)
	require.Empty(t, stderr)
	for _, o := range ops {
		require.Contains(t, stdout, "  "+o.name+" ")
	}
	require.Contains(t, stdout, "--bind-to")
}

// A reader that goes away ends the measurement.
func TestOutputThatCannotBeWritten(t *testing.T) {
	var stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	code := Main(ctx, []string{"barrier", "-n", "2", "-i", "1"}, gone{}, &stderr)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr.String(), "reader has gone")
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, errGone }
