package bench

import (
	"context"

	"github.com/symwin/symwin/window"
)

var bandwidth = &op{
	name: "bw",
	text: "64 PutSignal in flight from rank to neighbour, into 64 places of its window, then one answer",
	osu:  "osu_bw osu_put_bw", imb: "Uniband",
	low: 8, high: 1 << 20,
	least: 2, few: true, pairs: true,
	total: perPair,
	ways: []way{{
		engine: "auto", window: flight, memory: once,
		open: func(ctx context.Context, r *rank, t task) (*exercise, error) {
			return openFlights(ctx, r, t, r.world.Rank()%2 == 0, r.world.Rank()%2 == 1)
		},
	}},
}

var bothWays = &op{
	name: "bibw",
	text: "bw in both directions at once",
	osu:  "osu_bibw osu_put_bibw", imb: "Biband",
	low: 8, high: 1 << 20,
	least: 2, few: true, pairs: true,
	total: perPair,
	ways: []way{{
		engine: "auto", window: flight, memory: once,
		open: func(ctx context.Context, r *rank, t task) (*exercise, error) {
			return openFlights(ctx, r, t, true, true)
		},
	}},
}

func once(_ *config, t task) int64 { return t.Bytes }

// openFlights makes an exercise of which an operation is 64 messages to the
// neighbour, or from it, or both.
func openFlights(ctx context.Context, r *rank, t task, sends, receives bool) (*exercise, error) {
	size := int(t.Bytes)
	win, err := window.Alloc[byte](ctx, r.world, inFlight*size)
	if err != nil {
		return nil, err
	}
	me := r.world.Rank()
	peer, src := neighbour(me), make([]byte, size)
	x := newExercise(t, me)
	x.close = win.Free
	if x.units = inFlight; sends && receives {
		x.units *= 2
	}
	if sends {
		x.out = []part{{peer, src}}
	}
	if receives {
		for k := range inFlight {
			x.in = append(x.in, part{peer, win.Local()[k*size:][:size]})
		}
	}
	flights := uint64(0)
	x.repeat(func(ctx context.Context) error {
		flights++
		x.write()
		if sends {
			for k := range inFlight {
				if err := win.PutSignal(peer, k*size, src, signalData); err != nil {
					return err
				}
			}
		}
		if receives {
			if _, err := win.WaitSignal(ctx, peer, signalData, flights*inFlight); err != nil {
				return err
			}
			x.read()
			if err := win.Signal(peer, signalAnswer); err != nil {
				return err
			}
		}
		if sends {
			_, err := win.WaitSignal(ctx, peer, signalAnswer, flights)
			return err
		}
		return nil
	})
	return x, nil
}
