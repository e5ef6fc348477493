package bench

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/bench/chart"
)

// someParts are a tour of three parts, one of which failed.
func someParts() []*chapter {
	right, wrong := 0, 3
	config := config{Ranks: 2, CPUs: []int{0, 1}, Plan: [][]int{{0}, {1}}}
	job := func(o *op, engine string, sizes ...int64) *job {
		return &job{config: config, op: o, sizes: sizes, request: &request{
			engine: engine, touch: touchNone, dst: dstWindow, check: true, reps: 5, peers: []string{"openmpi", "mpich", "shmwin"}}}
	}
	meta := Meta{
		Host: "box", CPU: "Some CPU, 2 usable", Kernel: "Linux 6.1", Go: "go1.26 amd64", Commit: "0123456789ab", Command: "shmrun bench all", Bind: "bound to CPUs 0 | 1",
		Peers: map[string]PeerMeta{
			"openmpi": {Version: "Open MPI 4.1.4", Command: "mpirun.openmpi -n 2 <peer> alltoall"},
			"mpich":   {Version: "MPICH 4.0.2", Command: "mpirun.mpich -n 2 peer"},
			"shmwin":  {Note: "shmwin is not installed: apt-get install openmpi-bin libopenmpi-dev", missing: true},
		},
	}
	row := func(o *op, engine string, bytes int64, p50 figure, wrong *int, state string, others map[string]PeerFigure) Row {
		return Row{Op: o.name, Engine: engine, Ranks: 2, Bytes: bytes, Touch: touchNone, Reps: 5, summary: summary{Min: p50, Avg: p50, P50: p50, P99: 2 * p50, Max: 3 * p50},
			Algbw: figure(2*bytes) / p50 / 1e3, Busbw: figure(bytes) / p50 / 1e3, Wrong: wrong, Limit: p50 / 2, Of: "two16", State: state, Peers: others}
	}
	beside := func(open, mpich figure) map[string]PeerFigure {
		return map[string]PeerFigure{"openmpi": {P50: open, Ratio: 2.1}, "mpich": {P50: mpich, Ratio: 0.7}}
	}
	return []*chapter{
		{job: job(limits, auto, 4096), meta: meta, rows: []Row{
			{Op: "limits", Engine: pairName(0, 1), Ranks: 2, Bytes: 8, summary: summary{P50: 0.108}, Algbw: none(), Limit: none(), State: "108ns"},
			{Op: "limits", Engine: "copy avx2", Ranks: 1, Bytes: 4096, summary: summary{P50: 0.02}, Algbw: 204, Limit: none(), Wrong: &right, State: "108ns"},
			{Op: "limits", Engine: "copy avx2", Ranks: 2, Bytes: 4096, summary: summary{P50: 0.02}, Algbw: 408, Limit: none(), Wrong: &right, State: "108ns"},
		}},
		{job: job(allToAll, auto, 8, 1<<20), meta: meta, rows: []Row{
			row(allToAll, auto, 8, 0.25, &right, "108ns", beside(0.4, 0.7)),
			row(allToAll, auto, 1<<20, 170, &wrong, moved, map[string]PeerFigure{"openmpi": {P50: none(), Ratio: none(), Failed: "hung"}}),
		}, singles: []single{{Row{Bytes: 8}, tails{Count: 1000, P50: 0.2, P90: 0.2, P99: 0.3, P999: 1, P9999: 2, Max: 3, Clock: 31}}}},
		{job: job(allToAll, "ce", 8, 1<<20), meta: meta, rows: []Row{row(allToAll, "ce", 8, 1.5, &right, "112ns", nil)}, failed: "the ranks ended with exit code 139"},
	}
}

var anSVG = regexp.MustCompile(`(?s)<svg[^>]*aria-label="([^"]*)".*?</svg>`)

// The drawings of it have tests of their own.
func TestReport(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, document(someParts(), time.Date(2026, 11, 5, 12, 30, 0, 0, time.UTC)).Write(&b))
	golden(t, "report.html", anSVG.ReplaceAll(b.Bytes(), []byte("<svg>$1</svg>")))
	for _, reach := range []string{"http:", "https:", "src=", "@import", "<script", "<link"} {
		// The name of the SVG's vocabulary is no address that anything is fetched from.
		require.NotContains(t, strings.ReplaceAll(b.String(), `xmlns="http://www.w3.org/2000/svg"`, ""), reach, "the page is one file")
	}
}

func TestSheetHasEnginesPeersAndTheLimit(t *testing.T) {
	parts := someParts()
	names := func(s *chart.Sheet) (list []string) {
		for _, l := range s.Panels[0].Lines {
			list = append(list, l.Name)
		}
		return list[:min(4, len(list))]
	}
	drawn := drawings(parts[1].job, append(parts[1].rows, parts[2].rows...))
	require.Len(t, drawn, 2)
	require.Equal(t, []string{"symwin", "limit", "openmpi", "mpich"}, names(drawn[0].(*chart.Sheet)))
	require.Equal(t, []string{"auto", "ce", "limit", "openmpi"}, names(drawn[1].(*chart.Sheet)))
	beside := drawn[0].(*chart.Sheet)
	require.Equal(t, []float64{0.25, 170}, beside.Panels[0].Lines[0].Y)
	require.Equal(t, "algbw, GB/s", beside.Panels[1].Name)
	require.InDelta(t, 16/0.4/1e3, beside.Panels[1].Lines[2].Y[0], 1e-9, "a peer's bandwidth is of its own time")
	require.Empty(t, drawings(parts[1].job, parts[1].rows[:1]), "one point")
	require.Len(t, drawings(parts[0].job, parts[0].rows), 2, "the matrix and the copies")
}

func TestPlotHasAName(t *testing.T) {
	for _, c := range []struct {
		op   *op
		want string
	}{{allToAll, "<title>alltoall, 2 ranks, touch none</title>"}, {wait, "<title>wait</title>"}, {limits, "<title>Core to core, ns</title>"}} {
		p := someParts()[1]
		if p.job.op = c.op; c.op == limits {
			p = someParts()[0]
		}
		p.job.plot = "x.SVG"
		var b bytes.Buffer
		require.NoError(t, p.draw(&b))
		require.Contains(t, b.String(), c.want)
	}
}
