package bench

import (
	"context"

	"github.com/symwin/symwin/window"
)

var put = &op{
	name: "put",
	text: "half a round trip of PutSignal and WaitSignal between neighbours: one-sided, into a window",
	osu:  "osu_put_latency", imb: "Unidir_put",
	low: 8, high: 1 << 20,
	least: 2, few: true, pairs: true,
	total: func(n int, bytes int64) int64 { return bytes },
	moved: perPair,
	ways: []way{{
		engine: "auto",
		window: func(_ *config, t task) int64 { return t.Bytes },
		memory: func(_ *config, t task) int64 { return t.Bytes },
		open:   openPut,
	}},
}

// The signals of put and bw.
const (
	signalData   = 0
	signalAnswer = 1
)

func openPut(ctx context.Context, r *rank, t task) (*exercise, error) {
	win, err := window.Alloc[byte](ctx, r.world, int(t.Bytes))
	if err != nil {
		return nil, err
	}
	me := r.world.Rank()
	peer, src := neighbour(me), make([]byte, t.Bytes)
	x := newExercise(t, me)
	x.units = 2
	x.out, x.in = []part{{peer, src}}, []part{{peer, win.Local()}}
	x.close = win.Free
	trips := uint64(0)
	leads := me%2 == 0
	x.repeat(func(ctx context.Context) error {
		trips++
		if leads {
			x.write()
			if err := win.PutSignal(peer, 0, src, signalData); err != nil {
				return err
			}
		}
		if _, err := win.WaitSignal(ctx, peer, signalData, trips); err != nil {
			return err
		}
		x.read()
		if !leads {
			x.write()
			return win.PutSignal(peer, 0, src, signalData)
		}
		return nil
	})
	return x, nil
}
