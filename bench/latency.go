package bench

import (
	"context"
	"fmt"

	"github.com/symwin/symwin/symmem"
)

var latency = &op{
	name: "latency",
	text: "half a round trip between neighbours, received and copied out; the slowest pair counts",
	osu:  "osu_latency osu_multi_lat", nccl: "sendrecv_perf", imb: "PingPong",
	low: 8, high: 1 << 20,
	least: 2, few: true, pairs: true,
	total: func(n int, bytes int64) int64 { return bytes },
	moved: perPair,
	ways: []way{
		{engine: "auto", window: stagingNeed, memory: twice, open: openLatency},
		{engine: "ll16", fits: anElement, memory: twice, open: openLatency},
		{engine: "ce", window: stagingNeed, memory: twice, open: openLatency},
	},
}

func twice(_ *config, t task) int64 { return 2 * t.Bytes }

// anElement refuses sizes that are no element of a session.
func anElement(_ *config, t task) error {
	switch {
	case elements[t.Bytes] != nil:
		return nil
	case t.Engine == auto: // it has no other engine
		return fmt.Errorf("%s has elements of 1, 2, 4 … %d bytes, not %d; take sizes among these", t.Op, maxElement, t.Bytes)
	default:
		return fmt.Errorf("%s by ll16 has elements of 1, 2, 4 … %d bytes, not %d; lower --max or take --engine auto", t.Op, maxElement, t.Bytes)
	}
}

// courier carries messages of one size between the two ranks of a pair.
type courier interface {
	// out is where a message is taken from, in where one has been copied to when
	// receive returns.
	out() []byte
	in() []byte
	// trips makes n round trips, as operations of x: a send and a receive on the
	// rank that leads, a receive and a send on the other. They are loops of their
	// own: a call through a function value or an interface in each half took 2 ns
	// of what is measured.
	trips(ctx context.Context, x *exercise, n int, leads bool) error
	// Close is collective over the pair.
	Close(ctx context.Context) error
}

func openCourier(ctx context.Context, pair *symmem.Team, t task) (courier, error) {
	e := elements[t.Bytes]
	if t.Engine == "ce" || t.Engine == "auto" && e == nil {
		return openCopies(ctx, pair, int(t.Bytes))
	}
	return e.courier(ctx, pair)
}

// openLatency makes an exercise of which an operation is a round trip.
func openLatency(ctx context.Context, r *rank, t task) (*exercise, error) {
	pair, err := r.pair(ctx)
	if err != nil {
		return nil, err
	}
	c, err := openCourier(ctx, pair, t)
	if err != nil {
		return nil, err
	}
	x := newExercise(t, r.world.Rank())
	x.units = 2
	peer := neighbour(r.world.Rank())
	x.out, x.in = []part{{peer, c.out()}}, []part{{peer, c.in()}}
	leads := pair.Rank() == 0
	x.run = func(ctx context.Context, n int) error { return c.trips(ctx, x, n, leads) }
	x.close = func(ctx context.Context) error {
		if err := c.Close(ctx); err != nil {
			return err
		}
		return pair.Close(ctx)
	}
	return x, nil
}

// pair is the team of this rank and its neighbour.
func (r *rank) pair(ctx context.Context) (*symmem.Team, error) {
	return r.world.Team().Split(ctx, r.world.Rank()/2, r.world.Rank())
}
