package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tails are the times of single operations, of all ranks together, with what the
// clock costs taken off: what blocks, which average, cannot show. Less than what an
// exercise does at once cannot be timed: of that, a round trip or a flight of
// messages, each is a share.
type tails struct {
	Count int     `json:"count"`
	Ops   int     `json:"ops_per_sample"` // halves of a round trip, messages of a flight
	P50   figure  `json:"p50_us"`
	P90   figure  `json:"p90_us"`
	P99   figure  `json:"p99_us"`
	P999  figure  `json:"p99.9_us"`
	P9999 figure  `json:"p99.99_us"`
	Max   figure  `json:"max_us"`
	Clock float64 `json:"clock_ns"` // one reading, taken off
}

// line is the tails of row in one line for people.
func (t tails) line(r Row) string {
	return fmt.Sprintf("%s, %d bytes: p50 %v  p90 %v  p99 %v  p99.9 %v  p99.99 %v  max %v µs; %d of them, less %.0f ns for the clock",
		t.what(), r.Bytes, t.P50, t.P90, t.P99, t.P999, t.P9999, t.Max, t.Count, t.Clock)
}

// what says what was timed.
func (t tails) what() string {
	switch {
	case t.Ops <= 1:
		return "single operations"
	case t.Ops == 2:
		return "halves of single round trips"
	}
	return fmt.Sprintf("single flights of %d messages by their number", t.Ops)
}

// A histogram holds 1 ns to 10 s in steps of 1 %. Its counts fit the board.
const (
	longestTail = int64(10 * time.Second)
	tailDigits  = 2
	fewest      = 100 // operations that are worth a tail
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longestTail, tailDigits) }

// clockCost is the cheapest of many readings of the clock.
func (m *meter) clockCost() time.Duration {
	cost, last := time.Hour, m.now()
	for range 1000 {
		now := m.now()
		cost, last = min(cost, now-last), now
	}
	return cost
}

// tails times the operations of s one by one, for about as long as budget says.
func (m *meter) tails(ctx context.Context, s *stint, budget time.Duration) (*tails, error) {
	h, clock, n := newHistogram(), m.clockCost(), max(int(budget/max(s.each, 1)), fewest)
	wrong := 0
	err := m.fresh(ctx, s, &wrong, false, func() error {
		if err := s.run(ctx, 1); err != nil {
			return err
		}
		begin := m.now()
		for range n {
			if err := s.run(ctx, 1); err != nil {
				return err
			}
			end := m.now()
			_ = h.RecordValue(min(max(int64(end-begin-clock), 1), longestTail))
			begin = m.now()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all, err := m.board.merge(ctx, h)
	if err != nil || all == nil {
		return nil, err
	}
	ops := max(s.units, 1)
	at := func(percentile float64) figure {
		return micro(time.Duration(all.ValueAtQuantile(percentile)), ops)
	}
	return &tails{
		Count: int(all.TotalCount()), Ops: ops, Clock: float64(clock),
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), P9999: at(99.99), Max: at(100),
	}, nil
}
