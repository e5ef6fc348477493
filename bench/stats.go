package bench

import (
	"maps"
	"math"
	"slices"
	"time"
)

// summary is what a row says about its blocks: µs an operation.
type summary struct {
	OpsPerBlock int    `json:"ops_per_block"`
	Min         figure `json:"min_us"`
	Avg         figure `json:"avg_us"`
	P50         figure `json:"p50_us"`
	P99         figure `json:"p99_us"`
	Max         figure `json:"max_us"`
}

// summarize sums up the blocks of several slices.
func summarize(parts []slice) summary {
	var each []figure // an operation's time, block by block
	total, fewest := figure(0), 0
	for _, s := range parts {
		if fewest == 0 || s.Ops < fewest { // a slice may have other blocks than the one before
			fewest = s.Ops
		}
		for _, b := range s.Blocks {
			each = append(each, micro(b, s.Ops))
			total += each[len(each)-1]
		}
	}
	if len(each) == 0 {
		return summary{Min: none(), Avg: none(), P50: none(), P99: none(), Max: none()}
	}
	slices.Sort(each)
	return summary{
		OpsPerBlock: fewest,
		Min:         each[0],
		Avg:         total / figure(len(each)),
		P50:         quantile(each, 0.50),
		P99:         quantile(each, 0.99),
		Max:         each[len(each)-1],
	}
}

// bestNote are the slices of one note, those in which an operation took least: how
// a copy can be made counts, not how else it could be.
func bestNote(all []slice) (best []slice) {
	by := map[string][]slice{}
	for _, s := range all {
		by[s.Note] = append(by[s.Note], s)
	}
	for _, note := range slices.Sorted(maps.Keys(by)) {
		if best == nil || summarize(by[note]).P50 < summarize(best).P50 {
			best = by[note]
		}
	}
	return best
}

// quantile is the smallest sample that at least the share q of all samples do
// not exceed (the nearest rank): always a value that was measured. sorted is in
// ascending order and not empty.
func quantile[T any](sorted []T, q float64) T {
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
