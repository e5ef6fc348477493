package bench

import (
	"context"
	"time"

	"github.com/symwin/symwin/internal/line"
)

// openCopying is plain copies of t.Bytes by the first t.Ranks ranks, each on a
// CPU of its own, from and to memory of its own, by the loop that is the fastest
// there: the most that anything that moves bytes can reach.
func openCopying(ctx context.Context, r *rank, t task) (*exercise, error) {
	me := r.world.Rank()
	x := newExercise(t, me)
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
	var best line.CopyLoop
	x.run = func(ctx context.Context, n int) error {
		if best.Copy == nil { // the first round: all copy at once, as later
			best = fastest(r.meter.now, dst, src)
			x.note = best.Name
		}
		for range n {
			best.Copy(dst, src)
		}
		return nil
	}
	return x, nil
}

// trialTime is how long a loop is tried, and so often: the machine may be busy.
const (
	trialTime = 300 * time.Microsecond
	trialRuns = 6
)

// fastest is the loop that copies src to dst in the shortest time.
func fastest(now func() time.Duration, dst, src []byte) (best line.CopyLoop) {
	least := 0.0
	loops := line.CopyLoops()
	for k := range trialRuns * len(loops) {
		loop := loops[k%len(loops)]
		loop.Copy(dst, src)
		n, begin, took := 0, now(), time.Duration(0)
		for took < trialTime {
			for range 1 + (16<<10)/len(src) {
				loop.Copy(dst, src)
				n++
			}
			took = now() - begin
		}
		if each := float64(took) / float64(n); best.Copy == nil || each < least {
			best, least = loop, each
		}
	}
	return best
}
