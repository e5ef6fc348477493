package bench

import (
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

	// Ten round trips a block, half of each counts.
	s := summarize(blocks, 20)
	require.Equal(t, summary{p50: 1.5, p99: 2.5}, s)
	require.Equal(t, 25*us, blocks[0], "the order of the blocks is kept")
}
