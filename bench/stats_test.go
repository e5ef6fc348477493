package bench

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantileIsTheNearestRank(t *testing.T) {
	samples := func(n int) (list []time.Duration) {
		for i := range n {
			list = append(list, time.Duration(i+1))
		}
		return list
	}
	for _, c := range []struct {
		n    int
		q    float64
		want time.Duration
	}{
		{1, 0.5, 1}, {1, 0.99, 1},
		{2, 0.5, 1}, {3, 0.5, 2}, {4, 0.5, 2}, {101, 0.5, 51},
		{100, 0.99, 99}, {99, 0.99, 99}, {101, 0.99, 100}, {1000, 0.99, 990},
		{10, 0, 1}, {10, 1, 10},
	} {
		require.Equal(t, c.want, quantile(samples(c.n), c.q), "q %v of 1 to %d", c.q, c.n)
	}
}

func TestABlockIsAsLongAsItsSlowestRank(t *testing.T) {
	us := time.Microsecond
	blocks := slowest([][]time.Duration{
		{20 * us, 50 * us, 30 * us},
		{25 * us, 40 * us, 30 * us},
		nil, // took no part
	})
	require.Equal(t, []time.Duration{25 * us, 50 * us, 30 * us}, blocks)
}

func TestSummaryOfKnownSamples(t *testing.T) {
	us := time.Microsecond
	// Ten round trips a block, half of each counts; and a slice of longer blocks.
	s := summarize([]slice{
		{Blocks: []time.Duration{25 * us, 50 * us, 30 * us}, Ops: 20},
		{Blocks: []time.Duration{400 * us}, Ops: 40},
	})
	require.Equal(t, summary{OpsPerBlock: 20, Min: 1.25, Avg: (1.25 + 2.5 + 1.5 + 10) / 4, P50: 1.5, P99: 10, Max: 10}, s)

	var hundred slice
	hundred.Ops = 1
	for k := range 100 {
		hundred.Blocks = append(hundred.Blocks, time.Duration((k*37)%100+1)*us) // 1 to 100, shuffled
	}
	require.Equal(t, summary{OpsPerBlock: 1, Min: 1, Avg: 50.5, P50: 50, P99: 99, Max: 100}, summarize([]slice{hundred}))

	require.False(t, summarize(nil).P50.ok(), "of nothing there is nothing to say")
}

func TestFigures(t *testing.T) {
	for f, want := range map[figure]string{0: "0.000", 0.0714: "0.071", 9.9994: "9.999", 12.345: "12.35", 123.45: "123.5", 1234.5: "1234", none(): "-"} {
		if f.ok() {
			require.Equal(t, want, f.String())
		}
	}
	require.Equal(t, "-", none().String())
	text, err := json.Marshal([]figure{1.23456789, none()})
	require.NoError(t, err)
	require.Equal(t, "[1.2346,null]", string(text))
}

// Of copies by several loops, the fastest loop's slices are the figure.
func TestBestNote(t *testing.T) {
	of := func(note string, blocks ...time.Duration) slice { return slice{Blocks: blocks, Ops: 1, Note: note} }
	slow, fast, again := of("rep", 9000, 9500), of("avx2", 7000, 8000), of("avx2", 7100)
	require.Equal(t, []slice{fast, again}, bestNote([]slice{slow, fast, again}))
	require.Equal(t, []slice{slow}, bestNote([]slice{slow}))
	require.Empty(t, bestNote(nil))
}
