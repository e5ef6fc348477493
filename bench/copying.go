package bench

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/symwin/symwin/internal/line"
)

// copyBlock is the shortest block of copies. It is long because a block takes as
// long as its slowest copier, and in short ones that is now this, now that.
const copyBlock = time.Millisecond

// openCopying is plain copies of t.Bytes by the first t.Ranks ranks, each on a
// CPU of its own, from and to memory of its own, by the loop that is the fastest
// there: the most that anything that moves bytes can reach.
func openCopying(ctx context.Context, r *rank, t task) (*exercise, error) {
	me := r.world.Rank()
	x := newExercise(t, me)
	x.shortest = copyBlock
	if me >= t.Ranks {
		return x, nil
	}
	memory, free, err := sharedMemory(2 * int(t.Bytes))
	if err != nil {
		return nil, err
	}
	src, dst := memory[:t.Bytes], memory[t.Bytes:]
	x.out, x.in = []part{{me, src}}, []part{{me, dst}}
	x.close = func(context.Context) error { return free() }
	x.cpu = &r.CPUs[me]

	line.Fill(src, 1)
	line.Fill(dst, 1)
	var best []line.CopyLoop // nil: not compared yet
	turn := 0
	x.begin = func() { turn++ }
	x.run = func(ctx context.Context, n int) error {
		if best == nil { // the first round: all copy at once, as later
			best = fastest(r.meter.now, dst, src)
		}
		loop := best[turn%len(best)]
		x.note = loop.Name
		loop.Times(dst, src, n)
		return nil
	}
	return x, nil
}

// How loops are compared: in turns, each for about trialTime after as long a start
// (a processor that has not used its widest registers for a while is slow with them
// for some hundred µs) and without a look at the clock, which costs lines of a first-level cache that 16 KiB and their copy
// fill; by the medians of so many rounds, fewer where copies are long.
const (
	trialTime   = 400 * time.Microsecond
	trialRounds = 9
	fewRounds   = 3
	trialBudget = 50 * time.Millisecond
)

// asGood bounds what a loop may take in the comparison, by the fastest, that is
// measured in turns with it.
const asGood = 1.1

// fastest is the loop that copies src to dst in the shortest time, and the second
// one if it is nearly as fast: which of two it is shows in slices only. "rep movsb"
// wins comparisons of 64 KiB, where copies follow each other, and takes up to 1.5 ×
// as long as AVX2 for 30 ms after something else has run.
func fastest(now func() time.Duration, dst, src []byte) []line.CopyLoop {
	timed := func(loop line.CopyLoop, n int) (each float64) {
		loop.Copy(dst, src) // streaming ones leave the caches empty
		begin := now()
		loop.Times(dst, src, n)
		return float64(now()-begin) / float64(n)
	}
	loops := line.CopyLoops()
	each, begin := make([][]float64, len(loops)), now()
	for round := 0; round < fewRounds || round < trialRounds && now()-begin < trialBudget; round++ {
		for k, loop := range loops {
			n := 1 + int(float64(trialTime)/timed(loop, 1))
			loop.Times(dst, src, n)
			each[k] = append(each[k], timed(loop, n))
		}
	}
	type result struct {
		loop   line.CopyLoop
		median float64
	}
	var results []result
	for k, loop := range loops {
		slices.Sort(each[k])
		results = append(results, result{loop, quantile(each[k], 0.5)})
	}
	slices.SortStableFunc(results, func(a, b result) int { return cmp.Compare(a.median, b.median) })
	best := []line.CopyLoop{results[0].loop}
	if len(results) > 1 && results[1].median < asGood*results[0].median {
		best = append(best, results[1].loop)
	}
	return best
}
