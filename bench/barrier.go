package bench

import "context"

var barrier = &op{
	name:    "barrier",
	text:    "Team.Barrier",
	engines: []string{"auto"},
	run: func(ctx context.Context, r *rank) error {
		return r.row(ctx, r.barrier(), Row{Engine: r.Engine, Ranks: r.Ranks})
	},
}

// barrier proves itself by a word of each rank, stored before and read after: a
// barrier that let somebody through too early would find one of them old.
func (r *rank) barrier() *exercise {
	team, board := r.world.Team(), r.meter.board
	return &exercise{
		run: func(ctx context.Context, n int) error {
			for range n {
				if err := team.Barrier(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		load: func(round uint64) { board.mine().round.Store(round) },
		wrong: func(round uint64) (wrong int) {
			for _, p := range board.pages {
				if p.round.Load() < round {
					wrong++
				}
			}
			return wrong
		},
	}
}
