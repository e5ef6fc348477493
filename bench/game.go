package bench

import (
	"context"
	"time"
)

// machineTasks are what the limits are made of: what the machine itself can do,
// with nothing of symwin inside the clock.
var machineTasks map[string]func(ctx context.Context, r *rank, t task) (*exercise, error)

func init() {
	machineTasks = map[string]func(ctx context.Context, r *rank, t task) (*exercise, error){
		twoLines: play((*player).lines, 0),
		oneLine:  play((*player).line, 0),
		yielding: play((*player).yield, handOffBlock),
		sleeping: play((*player).futex, handOffBlock),
		copying:  openCopying,
		clock:    openClock,
		waitTask: openWait,
	}
}

// The machine's tasks.
const (
	twoLines = "two16" // half a round trip of one line in each direction, 8 bytes and a sequence
	oneLine  = "one8"  // the same over one line that both write
	yielding = "yield" // a hand-off between two ranks on one CPU by sched_yield
	sleeping = "futex" // and by futex
	copying  = "copy"  // plain copies, each rank from and to memory of its own
	clock    = "clock" // a reading of the monotonic clock
)

// handOffBlock is the shortest block of hand-offs: the two ranks come to their
// one CPU at different times, which must not show.
const handOffBlock = 2 * time.Millisecond

// play is a game between ranks 0 and 1 on the task's two CPUs, while the others
// sleep.
func play(game func(p *player, ctx context.Context, n int) error, shortest time.Duration) func(ctx context.Context, r *rank, t task) (*exercise, error) {
	return func(ctx context.Context, r *rank, t task) (*exercise, error) {
		me := r.world.Rank()
		x := newExercise(t, me)
		x.units, x.shortest = 2, shortest
		a := &r.meter.board.pages[0].arenas[r.opening]
		if me == 0 {
			*a = arena{}
		}
		if me < 2 {
			p := &player{arena: a, starter: me == 0}
			x.run = func(ctx context.Context, n int) error { return game(p, ctx, n) }
			x.cpu = &t.CPUs[me]
		}
		return x, r.world.Team().Barrier(ctx)
	}
}

// openClock is readings of the clock, by rank 0.
func openClock(_ context.Context, r *rank, t task) (*exercise, error) {
	x := newExercise(t, r.world.Rank())
	if r.world.Rank() == 0 {
		var last time.Duration // read by the next one, so that none is left out
		x.run = func(ctx context.Context, n int) error {
			for range n {
				last = max(last, r.meter.now())
			}
			return nil
		}
	}
	return x, nil
}
