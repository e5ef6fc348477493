package bench

import (
	"context"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// inFlight is how many messages are under way before somebody waits.
const inFlight = 64

var rate = &op{
	name: "rate",
	text: "messages a second from rank to neighbour: sessions of 64 slots, an epoch for each 64",
	osu:  "osu_mbw_mr", imb: "Multi-Uniband",
	low: 8, high: 256, factor: 2,
	least: 2, few: true, pairs: true,
	total: perPair,
	ways: []way{
		{engine: "auto", fits: anElement, window: slotsNeed, memory: flight, open: openRate},
		{engine: "ll16", fits: anElement, window: slotsNeed, memory: flight, open: openRate},
	},
}

func slotsNeed(_ *config, t task) int64 {
	slots, err := epoch.Slots(2*inFlight, int(t.Bytes))
	if err != nil {
		return maxSize
	}
	need, err := epoch.Requirement(1, slots)
	if err != nil {
		return maxSize
	}
	return int64(need)
}

func flight(_ *config, t task) int64 { return inFlight * t.Bytes }

// volley sends or receives an epoch of messages.
type volley interface {
	messages() []byte
	send(ctx context.Context) error
	receive(ctx context.Context) error
	Close(ctx context.Context) error
}

type bySlots[T any] struct {
	*lla2a.Session[T]
	peer int
	all  [inFlight]T
}

func openVolley[T any](ctx context.Context, pair *symmem.Team) (volley, error) {
	s, err := lla2a.Open[T](ctx, pair, inFlight)
	if err != nil {
		return nil, err
	}
	return &bySlots[T]{Session: s, peer: 1 - pair.Rank()}, nil
}

func (v *bySlots[T]) messages() []byte { return window.Raw(v.all[:]) }

func (v *bySlots[T]) send(ctx context.Context) error {
	for j := range v.all {
		if err := v.SendFrom(ctx, v.peer, j, &v.all[j]); err != nil {
			return err
		}
	}
	return v.EndEpoch(ctx)
}

func (v *bySlots[T]) receive(ctx context.Context) error {
	for j := range v.all {
		if err := v.RecvInto(ctx, v.peer, j, &v.all[j]); err != nil {
			return err
		}
	}
	return v.EndEpoch(ctx)
}

func openRate(ctx context.Context, r *rank, t task) (*exercise, error) {
	pair, err := r.pair(ctx)
	if err != nil {
		return nil, err
	}
	v, err := elements[t.Bytes].volley(ctx, pair)
	if err != nil {
		return nil, err
	}
	x := newExercise(t, r.world.Rank())
	x.units = inFlight
	all, fly := []part{{neighbour(r.world.Rank()), v.messages()}}, v.send
	if x.out = all; pair.Rank() == 1 {
		x.out, x.in, fly = nil, all, v.receive
	}
	x.collective(fly)
	x.close = func(ctx context.Context) error {
		if err := v.Close(ctx); err != nil {
			return err
		}
		return pair.Close(ctx)
	}
	return x, nil
}
