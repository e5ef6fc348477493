package bench

import (
	"context"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

var allToAll = &op{
	name: "alltoall",
	text: "every rank sends BYTES to every rank",
	osu:  "osu_alltoall", nccl: "alltoall_perf", imb: "Alltoall",
	low: 8, high: 1 << 20,
	total: perRank, bus: allButOwn,
	moved: func(n int, bytes int64) int64 { return int64(n) * int64(n) * bytes },
	ways: []way{
		{engine: "auto", window: plus(destinationNeed, stagingNeed), memory: buffersNeed, open: allToAllBy(throughFrontDoor)},
		{engine: "ll64", window: plus(destinationNeed, blocksNeed), memory: buffersNeed, open: allToAllBy(throughLines)},
		{engine: "ce", window: plus(destinationNeed, stagingNeed), memory: buffersNeed, open: allToAllBy(throughCopies(symmem.EngineCE))},
		{engine: "bcopy", window: plus(destinationNeed, stagingNeed), memory: buffersNeed, open: allToAllBy(throughCopies(symmem.EngineBCopy))},
		views,
	},
}

// mover opens one engine's way to move src to dst, part r of which is rank r's.
// move does it once; done is collective.
type mover func(ctx context.Context, team *symmem.Team, dst, src []byte) (move, done func(context.Context) error, err error)

// allToAllBy is an all-to-all by one engine.
func allToAllBy(open mover) func(ctx context.Context, r *rank, t task) (*exercise, error) {
	return func(ctx context.Context, r *rank, t task) (*exercise, error) {
		team, n, size := r.world.Team(), r.Ranks, int(t.Bytes)
		src := make([]byte, n*size)
		dst, free, err := r.destination(ctx, t, n*size)
		if err != nil {
			return nil, err
		}
		move, done, err := open(ctx, team, dst, src)
		if err != nil {
			return nil, err
		}
		x := newExercise(t, team.Rank())
		for peer := range n {
			x.out = append(x.out, part{peer, src[peer*size:][:size]})
			x.in = append(x.in, part{peer, dst[peer*size:][:size]})
		}
		x.collective(move)
		x.close = func(ctx context.Context) error {
			if err := done(ctx); err != nil {
				return err
			}
			return free(ctx)
		}
		return x, nil
	}
}

func nothing(context.Context) error { return nil }

func throughFrontDoor(_ context.Context, team *symmem.Team, dst, src []byte) (move, done func(context.Context) error, err error) {
	return func(ctx context.Context) error { return symwin.AllToAll(ctx, team, dst, src) }, nothing, nil
}

// throughLines and throughCopies use an engine as the front door does.
func throughLines(ctx context.Context, team *symmem.Team, dst, src []byte) (move, done func(context.Context) error, err error) {
	size := len(src) / team.Size()
	call := symmem.Record{Op: symmem.OpAllToAll, Engine: symmem.EngineLL64, EltSize: 1, Count: uint64(size)}
	blocks, err := lla2a.OpenBlocks(ctx, team, call, size)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error { return blocks.AllToAll(ctx, &call, dst, src, size) }, blocks.Close, nil
}

func throughCopies(engine symmem.Engine) mover {
	return func(ctx context.Context, team *symmem.Team, dst, src []byte) (move, done func(context.Context) error, err error) {
		size := len(src) / team.Size()
		call := symmem.Record{Op: symmem.OpAllToAll, Engine: engine, EltSize: 1, Count: uint64(size)}
		s, err := ce.OpenFor(ctx, team, call, ce.Options{})
		if err != nil {
			return nil, nil, err
		}
		parts := make([]ce.Part, team.Size())
		for r := range parts {
			parts[r].Src, parts[r].Dst = src[r*size:][:size], dst[r*size:][:size]
		}
		return func(ctx context.Context) error { return s.Exchange(ctx, call, parts, false, nil) }, s.Close, nil
	}
}

// destinationNeed is what arrives on a rank, where that is in a window.
func destinationNeed(c *config, t task) int64 {
	if t.Dst == dstPrivate {
		return 0
	}
	return int64(c.Ranks) * t.Bytes
}

func buffersNeed(c *config, t task) int64 {
	return 2*int64(c.Ranks)*t.Bytes - destinationNeed(c, t)
}

// blocksNeed is what blocks of tagged lines take of a window.
func blocksNeed(c *config, t task) int64 {
	need, err := lla2a.BlocksRequirement(c.Ranks, int(t.Bytes))
	if err != nil {
		return maxSize
	}
	return need
}

// stagingNeed is what a stream takes of a window.
func stagingNeed(c *config, t task) int64 { return min(4<<20, c.Window/8) }

func plus(a, b func(*config, task) int64) func(*config, task) int64 {
	return func(c *config, t task) int64 { return a(c, t) + b(c, t) }
}
