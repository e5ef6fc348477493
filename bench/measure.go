package bench

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// point is how much of a row is to be measured now.
type point struct {
	Iters    int           `json:"iters,omitempty"`    // operations inside the clock, rounded up to whole blocks; 0: as many as fit into Budget
	Shortest time.Duration `json:"shortest,omitempty"` // of a block
	Budget   time.Duration `json:"budget,omitempty"`   // of all blocks

	expected time.Duration // what ours took, for who waits for a peer; 0: not known
}

// slice is what was measured of a row at one go.
type slice struct {
	Blocks []time.Duration `json:"blocks"`         // each as long as it took its slowest rank
	Ops    int             `json:"ops"`            // in a block; of a round trip, halves
	Wrong  int             `json:"wrong"`          // bytes
	Looked bool            `json:"looked"`         // for them: something was compared
	Note   string          `json:"note,omitempty"` // how it was done, where there is a choice

	dropped int // starts of a peer that failed and do not count
}

// stint is an exercise while it is open: what is known of it goes from slice to
// slice.
type stint struct {
	*exercise
	task
	round uint64
	ops   int // of a block, 0: not calibrated yet
	each  time.Duration
}

// rounds is how often an exercise gets new data before the clock starts, for a
// single, checked operation each: the same on all ranks. Three are the least that
// shows data from the round before last, which an engine with two buffers would
// deliver.
func (t *task) rounds() int {
	if t.Bytes > 64<<10 {
		return 3
	}
	return 8
}

// meter measures stints. All ranks have one and call it alike.
type meter struct {
	board *board
	now   func() time.Duration // the clock
	// tamper is a test's hand in the data between the ranks: it may replace parts
	// of an exercise.
	tamper func(x *exercise)
}

// measure takes a slice of s; only rank 0 gets it. The first one begins with
// checked operations and calibration. One of which the median block is too short,
// because the machine has become faster since, is measured again.
//
// Blocks follow each other without a pause, so the end of one is the beginning
// of the next, and nothing but operations happens between two readings of the
// clock.
func (m *meter) measure(ctx context.Context, s *stint, p point) (got slice, err error) {
	if s.cpu == nil {
		return m.slice(ctx, s, p)
	}
	err = pinned(*s.cpu, func() error {
		got, err = m.slice(ctx, s, p)
		return err
	})
	return got, err
}

func (m *meter) slice(ctx context.Context, s *stint, p point) (slice, error) {
	if s.begin != nil {
		s.begin()
	}
	wrong := 0
	shortest := cmp.Or(s.shortest, p.Shortest, minBlock)
	if s.ops == 0 {
		for range s.rounds() {
			if err := m.fresh(ctx, s, &wrong, true, func() error { return s.run(ctx, 1) }); err != nil {
				return slice{}, err
			}
		}
		if s.run != nil && s.Warmup > 0 {
			if err := s.run(ctx, s.Warmup); err != nil {
				return slice{}, err
			}
		}
		if err := m.calibrate(ctx, s, shortest); err != nil {
			return slice{}, err
		}
	}
	for try := 1; ; try++ {
		plan := planFor(p.Iters, s.ops, s.each, p.Budget)
		got, err := m.planned(ctx, s, plan, &wrong)
		if err != nil {
			return slice{}, err
		}
		// Only rank 0 has the blocks of all; what follows from them is for all to know.
		typical, err := m.board.slowest(ctx, got.typical())
		if err != nil {
			return slice{}, err
		}
		s.ops, s.each = replan(s.ops, s.each, typical/time.Duration(plan.ops), shortest)
		if typical >= shortest || try == maxAgain {
			return got, nil
		}
	}
}

// planned measures the blocks of plan. wrong is this rank's wrong bytes so far:
// those of a slice that is measured again count, too.
func (m *meter) planned(ctx context.Context, s *stint, plan plan, wrong *int) (slice, error) {
	var blocks []time.Duration
	err := m.fresh(ctx, s, wrong, !s.InPlace, func() (err error) {
		blocks, err = m.blocks(ctx, s, make([]time.Duration, 0, plan.blocks), plan.blocks, plan.ops)
		return err
	})
	if err == nil && s.InPlace { // what was sent last is gone
		err = m.fresh(ctx, s, wrong, true, func() error { return s.run(ctx, 1) })
	}
	if err != nil {
		return slice{}, err
	}
	all, sum, looked, err := m.board.gather(ctx, blocks, *wrong, s.Check && s.compares())
	return slice{Blocks: slowest(all), Ops: plan.ops * max(s.units, 1), Wrong: sum, Looked: looked, Note: s.note}, err
}

// typical is the median block, 0 where there is none.
func (s slice) typical() time.Duration {
	if len(s.Blocks) == 0 {
		return 0
	}
	return quantile(slices.Sorted(slices.Values(s.Blocks)), 0.5)
}

// fresh does body with new data, the ranks in step.
func (m *meter) fresh(ctx context.Context, s *stint, wrong *int, checked bool, body func() error) error {
	s.round++
	s.fill(s.round)
	if err := m.board.team.Barrier(ctx); err != nil {
		return err
	}
	if s.run == nil {
		return nil
	}
	if err := body(); err != nil {
		return err
	}
	if s.Check && checked {
		*wrong += s.wrongBytes(s.round)
	}
	return nil
}

// calibrate finds out how many operations make a block. All ranks come to the
// same result, since the times are those of the slowest rank, which all know.
func (m *meter) calibrate(ctx context.Context, s *stint, shortest time.Duration) (err error) {
	s.ops, s.each, err = calibrate(shortest, func(n int) (time.Duration, error) {
		if err := m.board.team.Barrier(ctx); err != nil {
			return 0, err
		}
		var one []time.Duration
		if s.run != nil {
			var err error
			if one, err = m.blocks(ctx, s, nil, 1, n); err != nil {
				return 0, err
			}
		}
		return m.board.slowest(ctx, sum(one))
	})
	return err
}

// blocks appends the times of n blocks of ops operations, after one that is not
// timed.
func (m *meter) blocks(ctx context.Context, s *stint, times []time.Duration, n, ops int) ([]time.Duration, error) {
	if err := s.run(ctx, 1); err != nil {
		return times, err
	}
	begin := m.now()
	for range n {
		if err := s.run(ctx, ops); err != nil {
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
