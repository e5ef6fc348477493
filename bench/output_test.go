package bench

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestFormats(t *testing.T) {
	wrong, right := 3, 0
	each := func(p50 ...figure) []figure { return p50 }
	rows := []Row{
		{Op: "alltoall", Engine: "auto", Ranks: 2, Bytes: 8, Touch: touchNone, Iters: 1_234_000, Reps: 2,
			summary: summary{OpsPerBlock: 120, Min: 0.171, Avg: 0.1903, P50: 0.18764321, P99: 0.23, Max: 1.5},
			Algbw:   0.0853, Busbw: 0.0426, Wrong: &right, Limit: 0.1124, Of: "two16", State: "112ns",
			Peers: map[string]PeerFigure{
				"openmpi": {P50: 0.41, Ratio: 2.185, each: each(0.41, 0.42), iters: 500_000},
				"mpich":   {P50: none(), Ratio: none(), Failed: "hung"},
				"ucx":     {P50: none(), Ratio: none()},
			}, Each: each(0.187, 0.188)},
		{Op: "alltoall", Engine: "auto", Ranks: 2, Bytes: 1 << 20, Touch: touchNone, Iters: 1024, Reps: 2,
			summary: summary{OpsPerBlock: 1, Min: 330, Avg: 400.25, P50: 341.5, P99: 1022.75, Max: 2044},
			Algbw:   6.1411, Busbw: 3.0705, Wrong: &wrong, Limit: 251.5, Of: "two16+copy", State: moved,
			Peers: map[string]PeerFigure{"openmpi": {P50: 612.5, Ratio: none(), each: each(612.5), iters: 300}}, Each: each(341.5, 342)},
	}
	meta := Meta{
		Host: "box", CPU: "Some CPU, 2 usable", Kernel: "Linux 6.1", Go: "go1.26 amd64", Commit: "0123456789ab",
		Command: "shmrun bench alltoall --peer openmpi,mpich,ucx", Bind: "bound to CPUs 0 | 1",
		Peers: map[string]PeerMeta{
			"openmpi": {Version: "4.1.4", Command: "mpirun.openmpi -n 2 --bind-to core peer alltoall"},
			"mpich":   {Version: "4.0.2", Command: "mpirun.mpich -n 2 peer alltoall"},
			"ucx":     {Note: "this peer cannot do that", cannot: true},
			"shmwin":  {Note: "not installed: apt-get install libopenmpi-dev", missing: true},
		},
	}
	single := tails{Count: 200000, Ops: 1, P50: 0.19, P90: 0.2, P99: 0.31, P999: 1.2, P9999: 14.5, Max: 88, Clock: 41}
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			j := &job{
				config:  config{Ranks: 2, CPUs: []int{0, 1}, Plan: [][]int{{0}, {1}}},
				request: &request{engine: auto, touch: touchNone, dst: dstWindow, format: format, peers: []string{"openmpi", "mpich", "ucx", "shmwin"}},
				op:      allToAll, sizes: []int64{8, 1 << 20},
			}
			var b bytes.Buffer
			out, err := newOutput(&b, j, meta)
			require.NoError(t, err)
			for _, r := range rows {
				require.NoError(t, out.row(r))
			}
			require.NoError(t, out.tails(rows[0], single))
			require.NoError(t, out.end())
			golden(t, "alltoall."+format, b.Bytes())
		})
	}
}

// What the header says was typed can be typed again.
func TestTheCommandIsToldAsAShellReadsIt(t *testing.T) {
	args := []string{"put", "-x", "A=it's 2", "--out", "a b", "-n=2"}
	require.Equal(t, `put -x 'A=it'\''s 2' --out 'a b' -n=2`, shellWords(args))
}

func TestCoreToCoreMatrix(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, matrix(&b, []int{0, 1, 4}, map[string]figure{pairName(0, 1): 0.0142, pairName(0, 4): 0.1953, pairName(1, 4): 0.2}))
	require.Equal(t, `# two16, ns     0     1     4
#         0     - 14.20 195.3
#         1 14.20     - 200.0
#         4 195.3 200.0     -
`, b.String())
}

func TestPlacementIsSteadyWithinOneState(t *testing.T) {
	at := func(ns float64) placement { return placement(ns) }
	require.True(t, steady(at(45), at(55)))
	require.True(t, steady(at(55), at(45)))
	require.False(t, steady(at(27), at(45)))
	require.False(t, steady(at(200), at(55)))
	require.True(t, steady(at(0), at(0)))
	require.False(t, steady(at(0), at(50)))
}

func TestRepliesAreToldFromWhatElseRanksWrite(t *testing.T) {
	var got []reply
	var rest bytes.Buffer
	r := &receiver{rest: &rest, take: func(m reply) { got = append(got, m) }}
	answer := reply{slice: slice{Blocks: []time.Duration{20, 30}, Ops: 7}}
	var text bytes.Buffer
	text.WriteString("hello\n")
	require.NoError(t, answer.write(&text))
	text.WriteString("[0] ") // --tag-output
	require.NoError(t, answer.write(&text))
	text.WriteString("shmrun-bench:no message\n")
	for _, b := range text.Bytes() { // in the smallest pieces
		n, err := r.Write([]byte{b})
		require.Equal(t, 1, n)
		require.NoError(t, err)
	}
	require.Equal(t, []reply{answer, answer}, got)
	require.Equal(t, "hello\nshmrun-bench:no message\n", rest.String())
}

// The header says of the rows that there are how long their blocks are.
func TestTheHeaderTellsTheBlocks(t *testing.T) {
	two := config{Ranks: 2, CPUs: []int{0, 1}}
	four := config{Ranks: 4, CPUs: []int{0, 1}}
	for _, c := range []struct {
		op   *op
		of   config
		want string
	}{
		{barrier, two, "over blocks of at least 20µs;"},
		{barrier, four, "over blocks of at least 2ms;"},
		{wait, two, "over blocks of at least 20µs;"},
		{wait, four, "over blocks of at least 20µs, or 2ms where ranks share CPUs;"},
		{limits, four, "over blocks of at least 20µs;"}, // no two of them on one CPU, but for hand-offs
		{startup, two, "over starts;"},
	} {
		var b bytes.Buffer
		require.NoError(t, header(&b, &job{config: c.of, request: &request{engine: auto, touch: touchNone}, op: c.op}, Meta{}))
		require.Contains(t, b.String(), c.want, "%s of %d", c.op.name, c.of.Ranks)
	}
}

// What cannot be timed alone is not called single.
func TestTailsTellWhatWasTimed(t *testing.T) {
	for ops, want := range map[int]string{1: "single operations, 8 bytes: ", 2: "halves of single round trips, 8 bytes: ", 64: "single flights of 64 messages by their number, 8 bytes: "} {
		require.Contains(t, tails{Ops: ops}.line(Row{Bytes: 8}), want)
	}
}
