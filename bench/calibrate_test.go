package bench

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A clock that shows what the operations cost, and a little for being read.
func TestCalibrateFindsTheShortestBlockThatIsLongEnough(t *testing.T) {
	for _, each := range []time.Duration{1, 50, 3 * time.Microsecond, 19 * time.Microsecond, 25 * time.Microsecond, time.Second} {
		t.Run(each.String(), func(t *testing.T) {
			ran := 0
			ops, found, err := calibrate(minBlock, func(n int) (time.Duration, error) {
				ran += n
				cost := time.Duration(n)*each + 30
				if ran <= 2*n { // the first two of three meet cold caches
					cost += time.Millisecond
				}
				return cost, nil
			})
			require.NoError(t, err)
			block := time.Duration(ops) * each
			require.GreaterOrEqual(t, block, minBlock)
			require.LessOrEqual(t, block, max(2*minBlock, each), "longer than need be")
			require.InDelta(t, float64(each), float64(found), 0.05*float64(each)+1)
			require.LessOrEqual(t, ran, 50*ops, "calibration took many times a block")
		})
	}
	broken := errors.New("a rank died")
	_, _, err := calibrate(minBlock, func(int) (time.Duration, error) { return 0, broken })
	require.ErrorIs(t, err, broken)
}

func TestPlan(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		iters, ops   int
		each, budget time.Duration
		want         plan
	}{
		{0, 10, 2 * us, 200 * time.Millisecond, plan{10, maxBlocks}},
		{0, 1, 100 * us, 200 * time.Millisecond, plan{1, 2000}},
		{0, 1, time.Second, 40 * time.Millisecond, plan{1, minBlocks}},
		{1, 1, us, 0, plan{1, 1}},
		{1, 100, us, 0, plan{100, 1}},
		{101, 100, us, 0, plan{100, 2}},
		{1000, 100, us, 0, plan{100, 10}},
		{10_000_000, 100, us, 0, plan{2442, 4096}},
	} {
		t.Run(fmt.Sprint(c.iters, c.ops), func(t *testing.T) {
			got := planFor(c.iters, c.ops, c.each, c.budget)
			require.Equal(t, c.want, got)
			require.GreaterOrEqual(t, got.ops*got.blocks, c.iters)
			require.LessOrEqual(t, got.blocks, maxBlocks, "the board has no more room")
		})
	}
}

func TestSizes(t *testing.T) {
	require.Equal(t, []int64{8}, sizes(8, 8, 2))
	require.Equal(t, []int64{8, 16, 32}, sizes(8, 32, 2))
	require.Equal(t, []int64{1, 10, 99}, sizes(1, 99, 10), "the largest is measured in any case")
	require.Equal(t, []int64{3, maxSize}, sizes(3, maxSize, maxSize), "no overflow")
}
