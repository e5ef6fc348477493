//go:build linux

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/shm"
)

// command runs "shmrun bench" with ranks that are processes.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = Main(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

func rowsOf(t *testing.T, text string) (rows []Row) {
	t.Helper()
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
		"barrier -i 1 -n 3":                                                           1,
		"-b 8 latency -n 2 -e 4K -f 8 -i 100":                                         4,
		"alltoall --ranks 3 --min 1 --max 2K --factor 64 -i 10":                       3,
		"--engine ce alltoall -np 2 -b 64K -e 64K -i 1 --dst private --bind-to none":  1,
		"--tag-output alltoall --engine ll16 -n 5 -b 100 -e 100 -i 1 --backing memfd": 1,
	} {
		t.Run(line, func(t *testing.T) {
			code, stdout, stderr := command(t, append(strings.Fields(line), "--format", "json")...)
			require.Zero(t, code, stderr)
			require.Empty(t, stderr)
			got := rowsOf(t, stdout)
			require.Len(t, got, rows)
			for _, r := range got {
				require.Zero(t, r.Wrong)
				require.Positive(t, r.P50)
			}
		})
	}
}

func TestLimitsAreMeasured(t *testing.T) {
	code, stdout, stderr := command(t, "limits", "-e", "4K", "-i", "1", "--format", "json")
	require.Zero(t, code, stderr)
	seen := map[string]bool{}
	for _, r := range rowsOf(t, stdout) {
		seen[r.Engine] = true
		require.Positive(t, r.P50)
		require.Zero(t, r.Wrong)
	}
	for _, what := range []string{"yield", "futex", copyRow, "clock"} {
		require.True(t, seen[what], "no row for %s in\n%s", what, stdout)
	}
}

func TestWrongBytesEndInExitCodeOne(t *testing.T) {
	code, stdout, stderr := command(t, "alltoall", "-n", "2", "-b", "64", "-e", "64", "-i", "1", "--format", "json", "-x", tamperVariable+"=1")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "arrived wrong")
	rows := rowsOf(t, stdout)
	require.Len(t, rows, 1)
	require.Positive(t, rows[0].Wrong)
}

func TestTheTableTellsWhatIsMeasured(t *testing.T) {
	code, stdout, stderr := command(t, "barrier", "-n", "2", "-i", "1")
	require.Zero(t, code, stderr)
	for _, want := range []string{"# machine: ", "# ranks: 2, ", "# engine: auto", "# placement before: ", "# placement after: ", "µs"} {
		require.Contains(t, stdout, want)
	}
	for line := range strings.Lines(stdout) {
		require.True(t, strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "barrier "), line)
	}
}

func TestWhatCannotBeMeasuredIsSaidInOneLine(t *testing.T) {
	for line, want := range map[string]string{
		"":                            "no operation",
		"dance":                       `no operation "dance"; there are latency, barrier, alltoall and limits`,
		"latency barrier":             "one operation at a time",
		"latency --frob":              "unknown flag: --frob",
		"latency -n 3":                "must be even, not 3",
		"latency -n 1":                "at least 2 ranks",
		"alltoall -n 0":               "1 to 1024 ranks",
		"alltoall -n 1025":            "1 to 1024 ranks",
		"alltoall -b 1M -e 64K":       "--min 1M is more than --max 64K",
		"barrier -b 1M -e 64K":        "--min 1M is more than --max 64K",
		"alltoall -b 0":               "1 byte to",
		"alltoall -b 8X":              `"8X" is no size`,
		"alltoall -f 1":               "2 or more",
		"latency -i 0":                "1 or more",
		"latency -i -5":               "1 or more",
		"alltoall --engine rocket":    `no engine "rocket"; it has auto, ll16 and ce`,
		"barrier --engine ce":         `no engine "ce"; it has auto`,
		"alltoall --format xml":       "there are table and json",
		"alltoall --dst moon":         "there are window and private",
		"latency --engine ll16 -e 8K": "4096 bytes, not 8192",
		"alltoall -n 2 -b 64M -e 64M --window 16M":            "need 134",
		"alltoall -n 2 -e 512G --window 512G":                 "does not fit the window",
		"alltoall -n 2 -b 512G --dst private":                 "does not fit the memory",
		"alltoall -n 2 -b 1T -e 1T --engine ll16 --window 1T": "does not fit the window",
	} {
		t.Run(line, func(t *testing.T) {
			code, stdout, stderr := command(t, strings.Fields(line)...)
			require.Equal(t, exitUsage, code, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, want)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

func TestASharedMemoryFileSystemThatIsTooSmallIsToldBefore(t *testing.T) {
	c := &Config{Ranks: 2, Window: 1 << 30, Dst: dstWindow, Engine: auto, Sizes: []int64{1 << 20}, Shm: 4 << 20}
	require.ErrorContains(t, allToAll.check(c), "does not fit "+shm.Dir())
	c.Shm = 8 << 20
	require.NoError(t, allToAll.check(c))
}

// Sizes that nobody asked for do not stand in the way.
func TestDefaultSizesAreThoseThatFit(t *testing.T) {
	for line, most := range map[string]int64{
		"latency --engine ll16": maxElement,
		"limits --window 16M":   4 << 20,
		"alltoall -b 4M":        4 << 20,
		"alltoall -e 4":         4,
		"alltoall -n 2":         1 << 20,
	} {
		q, err := parse(strings.Fields(line))
		require.NoError(t, err)
		c, _, err := q.config()
		require.NoError(t, err, line)
		require.Equal(t, most, c.Sizes[len(c.Sizes)-1], line)
	}
}

func TestHelp(t *testing.T) {
	code, stdout, stderr := command(t, "--help")
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	code := Main(ctx, []string{"barrier", "-n", "2", "-i", "1"}, broken{}, &stderr)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr.String(), "reader has gone")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errGone }
