package bench

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Placement is how far apart two CPUs were at one moment: half a round trip of
// one line in each direction, between ranks 0 and 1. Where a hypervisor moves
// virtual CPUs about, it changes several-fold within seconds, and figures can be
// compared only where it is the same.
type Placement struct {
	CPUs   [2]int  `json:"cpus"`
	HalfNS float64 `json:"half_ns"` // 0: there is one rank or one CPU only
}

func (p Placement) String() string {
	if p.HalfNS == 0 {
		return "not known (needs two ranks and two CPUs)"
	}
	return fmt.Sprintf("half round trip %.0f ns between CPUs %d and %d", p.HalfNS, p.CPUs[0], p.CPUs[1])
}

// sameState bounds the ratio of two half round trips in one state: states differ
// by 2 and more, repeats in one of them by a sixth.
const sameState = 1.4

// steady reports whether two looks saw the same state.
func steady(a, b Placement) bool {
	if a.HalfNS == 0 || b.HalfNS == 0 {
		return a.HalfNS == b.HalfNS
	}
	return math.Abs(math.Log(a.HalfNS/b.HalfNS)) < math.Log(sameState)
}

// placement measures and reports it. It is collective.
func (r *rank) placement(ctx context.Context) error {
	var p Placement
	if cpus, ok := r.twoCPUs(); ok {
		res, err := r.game(ctx, game{play: (*player).lines, cpus: cpus, budget: 5 * time.Millisecond})
		if err != nil {
			return err
		}
		p = Placement{CPUs: cpus, HalfNS: 1e3 * res.p50}
	}
	return r.tell(message{Placement: &p})
}

// game is something that ranks 0 and 1 play on two CPUs while the others sleep.
type game struct {
	play     func(*player, context.Context, int) error
	cpus     [2]int
	shortest time.Duration
	budget   time.Duration
	iters    int
}

// game plays g. Every rank calls it.
func (r *rank) game(ctx context.Context, g game) (res result, err error) {
	me, board := r.world.Rank(), r.meter.board
	if me == 0 {
		board.mine().arena = arena{}
	}
	x := &exercise{parts: 2, shortest: g.shortest, budget: g.budget}
	if me > 1 {
		return r.meter.measure(ctx, x, g.iters)
	}
	p := &player{arena: &board.pages[0].arena, starter: me == 0}
	x.run = func(ctx context.Context, n int) error { return g.play(p, ctx, n) }
	err = pinned(g.cpus[me], func() error {
		res, err = r.meter.measure(ctx, x, g.iters)
		return err
	})
	return res, err
}
