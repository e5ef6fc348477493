package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgress(t *testing.T) {
	j := &job{config: config{Ranks: 2, CPUs: []int{0, 1}}, request: &request{engine: auto, reps: 5}, op: allToAll, sizes: []int64{8, 1 << 20}}
	var b bytes.Buffer
	p := newProgress(&b, j)
	p.begin(j, j.trials()[0])
	require.NoError(t, p.row(Row{}))
	require.Empty(t, b.String(), "no terminal")

	now := time.Duration(0)
	p.w, p.width, p.now = &b, func() int { return 80 }, func() time.Duration { return now }
	*p = progress{w: &b, width: p.width, now: p.now, all: p.all, planned: p.planned}
	p.begin(j, j.trials()[0])
	require.Equal(t, "row 1 of 2: alltoall auto, 2 ranks, 8; "+span(p.planned)+" left", b.String())
	b.Reset()
	require.NoError(t, p.row(Row{}))
	require.Equal(t, "\r\x1b[K", b.String(), "the line is gone before the row is written")
	require.NoError(t, p.end())

	b.Reset()
	now = 10 * j.lastsRow(j.trials()[0]) // ten times as slow as expected
	p.begin(j, j.trials()[1])
	left := 10 * (p.planned - j.lastsRow(j.trials()[0]))
	require.Equal(t, "row 2 of 2: alltoall auto, 2 ranks, 1M; "+span(left)+" left", b.String())

	b.Reset()
	p.shown, p.width = false, func() int { return 12 }
	p.begin(j, j.trials()[1])
	require.Equal(t, "row 3 of 2:", b.String(), "one line, however narrow")
}

func TestSpans(t *testing.T) {
	for seconds, want := range map[float64]string{0.2: "1 s", 7.1: "8 s", 31: "35 s", 100: "1 min 40 s", 197: "3 min 20 s", 118.5: "2 min", 3700: "1 h 1 min"} {
		require.Equal(t, want, span(time.Duration(seconds*float64(time.Second))))
	}
}

// An estimate grows with what is to be done.
func TestEstimates(t *testing.T) {
	lasts := func(line string) time.Duration {
		q, err := parse(strings.Fields(line))
		require.NoError(t, err)
		j, err := q.job()
		require.NoError(t, err)
		return j.lasts()
	}
	one := lasts("alltoall -n 2 -b 8 -e 8")
	require.InDelta(t, 0.5, one.Seconds(), 0.4)
	require.Greater(t, lasts("alltoall -n 2 -b 8 -e 16"), one+rowBudget)
	require.Greater(t, lasts("alltoall -n 2 -b 8 -e 8 --peer unix"), one+rowBudget)
	require.Greater(t, lasts("alltoall -n 2 -b 8 -e 8 --tails"), one)
	require.Positive(t, lasts("startup -n 2"))
}
