package bench

import "context"

var barrier = &op{
	name: "barrier",
	text: "Team.Barrier",
	osu:  "osu_barrier", imb: "Barrier",
	moved: func(int, int64) int64 { return 0 },
	ways:  []way{{engine: "auto", open: openBarrier}},
}

// openBarrier proves itself by a word of each rank, stored before and read
// after: a barrier that let somebody through too early would find one of them
// old.
func openBarrier(_ context.Context, r *rank, t task) (*exercise, error) {
	x := newExercise(t, r.world.Rank())
	x.repeat(r.world.Team().Barrier)
	board := r.meter.board
	x.load = func(round uint64) { board.mine().round.Store(round) }
	x.wrong = func(round uint64) (wrong int) {
		for _, p := range board.pages {
			if p.round.Load() < round {
				wrong++
			}
		}
		return wrong
	}
	return x, nil
}
