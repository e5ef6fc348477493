package peers

import (
	"slices"
	"time"
)

// pace measures a slice by the same rules as the MPI program's measure.c: checked
// single operations, calibration, then blocks in rounds of fresh data. It keeps
// the calibration for the next slice of the same size.
type pace struct {
	bytes    int64
	shortest time.Duration
	ops      int
	each     time.Duration
	warmup   int // operations before a size is calibrated
}

const (
	maxBlocks = 4096
	minBlocks = 3
)

// measure calls run, which does one operation outside the clock and then as many
// blocks of ops operations, on data of its own that it verifies; it returns how
// long each block took its slowest rank. verified is how many bytes that compares.
func (c *pace) measure(p Point, verified int64, run func(blocks, ops int) ([]time.Duration, int, error)) (s Slice, err error) {
	// Three rounds are the least that shows data from the round before last.
	rounds, checks := 8, 1
	if verified > 1<<20 {
		rounds = 3
	}
	known := c.ops > 0 && c.bytes == p.Bytes && c.shortest == p.Shortest
	if !known {
		checks = rounds
	}
	for range checks {
		_, wrong, err := run(0, 1)
		if err != nil {
			return s, err
		}
		s.Wrong += wrong
	}
	// Either way the caches are warm after it: others have run meanwhile.
	if known {
		_, _, err = run(1, c.ops)
	} else {
		if c.warmup > 0 {
			_, _, err = run(1, c.warmup)
		}
		if err == nil {
			err = c.calibrate(p, run)
		}
	}
	if err != nil {
		return s, err
	}
	s.Ops = c.ops
	blocks := min(max(int(p.Budget/(c.each*time.Duration(c.ops))), minBlocks), maxBlocks)
	if p.Iters > 0 {
		s.Ops = max(c.ops, (p.Iters+maxBlocks-1)/maxBlocks) // longer blocks, where there would be too many
		blocks = (p.Iters + s.Ops - 1) / s.Ops
	}
	rounds = min(rounds, blocks)
	for k := range rounds {
		times, wrong, err := run(blocks*(k+1)/rounds-blocks*k/rounds, s.Ops)
		if err != nil {
			return s, err
		}
		s.Blocks = append(s.Blocks, times...)
		s.Wrong += wrong
	}
	// A machine that has become faster or slower since is calibrated anew.
	median := slices.Sorted(slices.Values(s.Blocks))[len(s.Blocks)/2]
	if median < p.Shortest || median > 3*c.each*time.Duration(s.Ops) {
		c.ops = 0
	} else {
		c.each = max(median/time.Duration(s.Ops), 1)
	}
	return s, nil
}

// calibrate finds out how many operations make a block of at least the shortest
// with a margin, since the machine may become faster. A lap may be disturbed, so
// the fastest of three counts.
func (c *pace) calibrate(p Point, run func(blocks, ops int) ([]time.Duration, int, error)) error {
	wanted := 1.25 * float64(p.Shortest)
	for ops := 1; ; {
		times, _, err := run(3, ops)
		if err != nil {
			return err
		}
		fastest := max(slices.Min(times), 1)
		if float64(fastest) >= wanted {
			c.bytes, c.shortest, c.ops, c.each = p.Bytes, p.Shortest, ops, max(fastest/time.Duration(ops), 1)
			return nil
		}
		ops = max(ops+1, int(float64(ops)*min(wanted/float64(fastest), 10))+1)
	}
}
