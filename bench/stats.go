package bench

import (
	"math"
	"slices"
	"time"
)

// quantile is the smallest sample that at least the share q of all samples do
// not exceed (the nearest rank): always a value that was measured. sorted is in
// ascending order and not empty.
func quantile(sorted []time.Duration, q float64) time.Duration {
	at := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// slowest combines what the ranks measured: block k took as long as it did on
// its slowest rank.
func slowest(ranks [][]time.Duration) []time.Duration {
	var blocks []time.Duration
	for _, own := range ranks {
		for k, t := range own {
			if k == len(blocks) {
				blocks = append(blocks, 0)
			}
			blocks[k] = max(blocks[k], t)
		}
	}
	return blocks
}

// summary is what a row says about its blocks.
type summary struct{ p50, p99 float64 } // µs a unit

// summarize sums up the times of blocks, in each of which units (operations, or
// halves of a round trip) happened.
func summarize(blocks []time.Duration, units int) summary {
	sorted := slices.Sorted(slices.Values(blocks))
	each := func(q float64) float64 {
		return float64(quantile(sorted, q)) / float64(time.Microsecond) / float64(units)
	}
	return summary{p50: each(0.50), p99: each(0.99)}
}
