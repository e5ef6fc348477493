package bench

import (
	"context"
	"errors"

	"github.com/symwin/symwin/ce"
)

// views is an all-to-all without a copy: everybody looks into the others' buffers.
// What it costs is in the looking.
var views = way{
	engine: "views",
	fits: func(_ *config, t task) error {
		if t.Touch == touchNone {
			return errors.New("alltoall by views moves nothing until somebody looks; give --touch read or full")
		}
		return nil
	},
	window: func(c *config, t task) int64 { return 2*int64(c.Ranks)*t.Bytes + pageSize },
	open:   openViews,
}

func openViews(ctx context.Context, r *rank, t task) (*exercise, error) {
	n, size := r.Ranks, int(t.Bytes)
	v, err := ce.OpenViews[byte](ctx, r.world.Team(), size)
	if err != nil {
		return nil, err
	}
	x := newExercise(t, r.world.Rank())
	x.out, x.in = make([]part, n), make([]part, n)
	var seen *ce.Seen[byte]
	var failed error // outside the clock, to be told by the next operation
	// show fills the half whose turn it is and shows it. What is seen stays so
	// until the next is, to be compared.
	show := func(ctx context.Context, fill func()) error {
		buffer, err := v.Buffer(ctx)
		if err != nil {
			return err
		}
		for peer := range n {
			x.out[peer] = part{peer, buffer[peer*size:][:size]}
		}
		fill()
		now, err := v.Exchange(ctx)
		if err != nil {
			return err
		}
		if seen != nil {
			seen.Release()
		}
		seen = now
		for peer := range n {
			x.in[peer] = part{peer, seen.From(peer)}
		}
		return nil
	}
	x.load = func(round uint64) { // into both halves
		for range 2 {
			failed = errors.Join(failed, show(ctx, func() { x.spread(round) }))
		}
	}
	x.repeat(func(ctx context.Context) error {
		if failed != nil {
			return failed
		}
		err := show(ctx, x.write)
		x.read()
		return err
	})
	x.close = func(ctx context.Context) error {
		seen = nil
		return v.Close(ctx)
	}
	return x, nil
}
