package bench

import (
	"cmp"
	"context"
	"time"
)

// exercise is one operation at one size, as one rank does it.
type exercise struct {
	// run does n operations: what is inside the clock. All ranks that take part
	// run the same number. Nil: this rank does not take part.
	run func(ctx context.Context, n int) error
	// load puts the data of a round where the next operations take it from, and
	// wrong counts the bytes that have not arrived as they were sent. Both are
	// outside the clock; nil where there is nothing to verify.
	load  func(round uint64)
	wrong func(round uint64) int
	// arrived is where the data comes in, for tests that damage it.
	arrived []byte
	// close gives back what the exercise has opened. It is collective. May be nil.
	close func(ctx context.Context) error

	bytes    int64         // verified a round, for how often that is worth while
	parts    int           // figures an operation holds: 2 where it is a round trip and half of one counts; 0: 1
	shortest time.Duration // of a block; 0: the meter's
	budget   time.Duration // of all blocks where iterations are "auto"; 0: autoBudget
}

// autoBudget is how long the blocks of one row last together.
const autoBudget = 200 * time.Millisecond

// rounds is how often an exercise gets new data: as single, checked operations
// before the clock starts, and as many times while it runs. Three are the least
// that shows data from the round before last, which an engine with two buffers
// would deliver.
func (x *exercise) rounds() int {
	if x.bytes > 1<<20 {
		return 3
	}
	return 8
}

// meter measures exercises. All ranks have one and call it alike.
type meter struct {
	board    *board
	shortest time.Duration        // of a block; 0: minBlock
	now      func() time.Duration // the clock
	// tamper is a test's hand in the data between the ranks: it may replace parts
	// of an exercise.
	tamper func(x *exercise)
}

// result is one row's figures. Only rank 0 has them.
type result struct {
	summary
	iters, wrong int
}

// measure runs an exercise: checked rounds, calibration, and then the blocks.
//
// Blocks follow each other without a pause, so the end of one is the beginning
// of the next, and nothing but operations happens between two readings of the
// clock. Only where the data changes is there a break, and then one operation
// outside the clock brings the ranks in step again.
func (m *meter) measure(ctx context.Context, x *exercise, iters int) (result, error) {
	if m.tamper != nil {
		m.tamper(x)
	}
	round, wrong := uint64(0), 0
	fresh := func(body func() error) error {
		round++
		if x.load != nil {
			x.load(round)
		}
		if err := m.board.team.Barrier(ctx); err != nil {
			return err
		}
		if x.run == nil {
			return nil
		}
		if err := body(); err != nil {
			return err
		}
		if x.wrong != nil {
			wrong += x.wrong(round)
		}
		return nil
	}

	for range x.rounds() {
		if err := fresh(func() error { return x.run(ctx, 1) }); err != nil {
			return result{}, err
		}
	}
	plan, err := m.plan(ctx, x, iters)
	if err != nil {
		return result{}, err
	}
	var blocks []time.Duration
	if x.run != nil {
		blocks = make([]time.Duration, 0, plan.blocks)
	}
	for k := range x.rounds() {
		upTo := plan.blocks * (k + 1) / x.rounds()
		from := plan.blocks * k / x.rounds()
		err := fresh(func() (err error) {
			blocks, err = m.blocks(ctx, x, blocks, upTo-from, plan.ops)
			return err
		})
		if err != nil {
			return result{}, err
		}
	}
	all, wrong, err := m.board.gather(ctx, blocks, wrong)
	if err != nil || all == nil {
		return result{}, err
	}
	return result{
		summary: summarize(slowest(all), plan.ops*max(x.parts, 1)),
		iters:   plan.ops * plan.blocks,
		wrong:   wrong,
	}, nil
}

// plan calibrates. All ranks come to the same result, since the times are those
// of the slowest rank, which all know.
func (m *meter) plan(ctx context.Context, x *exercise, iters int) (plan, error) {
	ops, each, err := calibrate(cmp.Or(x.shortest, m.shortest, minBlock), func(n int) (time.Duration, error) {
		if err := m.board.team.Barrier(ctx); err != nil {
			return 0, err
		}
		var one []time.Duration
		if x.run != nil {
			var err error
			if one, err = m.blocks(ctx, x, nil, 1, n); err != nil {
				return 0, err
			}
		}
		return m.board.slowest(ctx, sum(one))
	})
	return planFor(iters, ops, each, cmp.Or(x.budget, autoBudget)), err
}

// blocks appends the times of n blocks of ops operations, after one that is not
// timed.
func (m *meter) blocks(ctx context.Context, x *exercise, times []time.Duration, n, ops int) ([]time.Duration, error) {
	if err := x.run(ctx, 1); err != nil {
		return times, err
	}
	begin := m.now()
	for range n {
		if err := x.run(ctx, ops); err != nil {
			return times, err
		}
		end := m.now()
		times = append(times, end-begin)
		begin = end
	}
	return times, nil
}

func sum(times []time.Duration) (all time.Duration) {
	for _, t := range times {
		all += t
	}
	return all
}
