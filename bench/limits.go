package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/symwin/symwin/window"
)

// limits measures what the machine itself can do, with nothing of symwin inside
// the clock: what every other figure is to be compared with. The ranks move from
// CPU to CPU by themselves. A row's engine says what was measured.
var limits = &op{
	name:    "limits",
	text:    "what the machine itself can do: exchanges, hand-offs, copies, the clock",
	engines: []string{"auto"},
	low:     4 << 10, high: 64 << 20, factor: 4,
	least: 2,
	total: func(row Row) int64 {
		if row.Engine == copyRow {
			return row.Bytes * int64(row.Ranks)
		}
		return 0
	},
	window: func(c *Config, bytes int64) int64 { return 2 * bytes },
	memory: func(c *Config, bytes int64) int64 { return 0 },
	run: func(ctx context.Context, r *rank) error {
		for _, part := range []func(context.Context) error{r.exchanges, r.coreToCore, r.handOffs, r.copies, r.clock} {
			if err := part(ctx); err != nil {
				return err
			}
		}
		return nil
	},
}

// copyRow is the engine of rows that copy.
const copyRow = "copy"

// handOffBlock is the shortest block of hand-offs: the two ranks come to their
// one CPU at different times, which must not show.
const handOffBlock = 2 * time.Millisecond

// exchanges: one and two lines between two CPUs.
func (r *rank) exchanges(ctx context.Context) error {
	cpus, ok := r.twoCPUs()
	if !ok {
		return nil
	}
	if err := r.played(ctx, "one-line", game{play: (*player).line, cpus: cpus}); err != nil {
		return err
	}
	return r.played(ctx, "two-lines", game{play: (*player).lines, cpus: cpus})
}

// pairBudget keeps the matrix of a large machine within seconds: 64 CPUs are
// 2016 pairs.
const pairBudget = 2 * time.Millisecond

// coreToCore: two lines between every two CPUs.
func (r *rank) coreToCore(ctx context.Context) error {
	for i, a := range r.CPUs {
		for _, b := range r.CPUs[i+1:] {
			g := game{play: (*player).lines, cpus: [2]int{a, b}, budget: pairBudget}
			if err := r.played(ctx, fmt.Sprintf("cpu%d-cpu%d", a, b), g); err != nil {
				return err
			}
		}
	}
	return nil
}

// handOffs: from rank to rank on one CPU.
func (r *rank) handOffs(ctx context.Context) error {
	one := [2]int{r.CPUs[0], r.CPUs[0]}
	if err := r.played(ctx, "yield", game{play: (*player).yield, cpus: one, shortest: handOffBlock}); err != nil {
		return err
	}
	return r.played(ctx, "futex", game{play: (*player).futex, cpus: one, shortest: handOffBlock})
}

func (r *rank) played(ctx context.Context, name string, g game) error {
	g.iters = r.Iters
	res, err := r.game(ctx, g)
	if err != nil {
		return err
	}
	return r.report(res, Row{Engine: name, Ranks: 2, Bytes: 8})
}

// copies: plain copies by one CPU and by all at once, each rank from and to
// memory of its own.
func (r *rank) copies(ctx context.Context) error {
	most := int(slices.Max(r.Sizes))
	win, err := window.Alloc[byte](ctx, r.world, 2*most)
	if err != nil {
		return err
	}
	all := min(r.Ranks, len(r.CPUs))
	for _, bytes := range r.Sizes {
		dst, src := win.Local()[:bytes], win.Local()[most:][:bytes]
		for _, copiers := range slices.Compact([]int{1, all}) {
			res, err := r.copying(ctx, copiers, dst, src)
			if err != nil {
				return err
			}
			if err := r.report(res, Row{Engine: copyRow, Ranks: copiers, Bytes: bytes}); err != nil {
				return err
			}
		}
	}
	return win.Free(ctx)
}

// copyPiece is below the size at which the runtime's copy turns to streaming
// stores, which are the slow way as long as the caches hold the data.
const copyPiece = 256 << 10

// copyLoops are the ways to copy; the faster one is the limit.
var copyLoops = []func(dst, src []byte){
	func(dst, src []byte) { copy(dst, src) },
	func(dst, src []byte) {
		for len(src) > 0 {
			n := copy(dst, src[:min(len(src), copyPiece)])
			dst, src = dst[n:], src[n:]
		}
	},
}

// copying measures ranks 0 to copiers-1, each on a CPU of its own.
func (r *rank) copying(ctx context.Context, copiers int, dst, src []byte) (best result, err error) {
	me := r.world.Rank()
	for k, loop := range copyLoops {
		x := &exercise{bytes: int64(len(src)), budget: copyBudget}
		measure := func() (err error) {
			res, err := r.meter.measure(ctx, x, r.Iters)
			if k == 0 || res.p50 < best.p50 {
				res.wrong += best.wrong
				best = res
			}
			return err
		}
		if me < copiers {
			x.arrived = dst
			x.run = func(ctx context.Context, n int) error {
				for range n {
					loop(dst, src)
				}
				return nil
			}
			x.load = func(round uint64) { stream{round, me, me}.fill(src) }
			x.wrong = func(round uint64) int { return stream{round, me, me}.wrong(dst) }
			err = pinned(r.CPUs[me], measure)
		} else {
			err = measure()
		}
		if err != nil {
			return result{}, err
		}
	}
	return best, nil
}

// copyBudget is for one of the loops at one size.
const copyBudget = 50 * time.Millisecond

// clock: one reading of the monotonic clock.
func (r *rank) clock(ctx context.Context) error {
	x := &exercise{budget: pairBudget}
	if r.world.Rank() == 0 {
		var last time.Duration // read by the next one, so that none is left out
		x.run = func(ctx context.Context, n int) error {
			for range n {
				last = max(last, r.meter.now())
			}
			return nil
		}
	}
	res, err := r.meter.measure(ctx, x, r.Iters)
	if err != nil {
		return err
	}
	return r.report(res, Row{Engine: "clock", Ranks: 1})
}
