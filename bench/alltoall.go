package bench

import (
	"context"
	"fmt"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

var allToAll = &op{
	name:    "alltoall",
	text:    "every rank sends BYTES to every rank",
	engines: []string{"auto", "ll16", "ce"},
	low:     8, high: 1 << 20,
	total: func(row Row) int64 { return row.Bytes * int64(row.Ranks) },
	window: func(c *Config, bytes int64) int64 {
		need := int64(0)
		if c.Dst == dstWindow {
			need += int64(c.Ranks) * bytes
		}
		if c.Engine == "ll16" {
			need += linesNeed(c.Ranks, bytes)
		}
		return need
	},
	memory: func(c *Config, bytes int64) int64 {
		if c.Dst == dstWindow {
			return int64(c.Ranks) * bytes
		}
		return 2 * int64(c.Ranks) * bytes
	},
	run: func(ctx context.Context, r *rank) error {
		return sweep(ctx, r, func(bytes int64) (*exercise, error) { return openAllToAll(ctx, r, bytes) })
	},
}

// linesNeed is what blocks of tagged lines take of a window.
func linesNeed(ranks int, bytes int64) int64 {
	slots, err := epoch.Slots(ranks, int(bytes))
	if err != nil {
		return maxSize
	}
	need, err := epoch.Requirement(1, slots)
	if err != nil {
		return maxSize
	}
	return int64(need)
}

func openAllToAll(ctx context.Context, r *rank, bytes int64) (*exercise, error) {
	team, n, size := r.world.Team(), r.Ranks, int(bytes)
	src := make([]byte, n*size)
	dst, free, err := r.destination(ctx, n*size)
	if err != nil {
		return nil, err
	}
	move, done, err := openMove(ctx, team, r.Engine, dst, src)
	if err != nil {
		return nil, err
	}
	part := func(b []byte, peer int) []byte { return b[peer*size:][:size] }
	return &exercise{
		run: func(ctx context.Context, n int) error {
			for range n {
				if err := move(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		load: func(round uint64) {
			for to := range n {
				stream{round, team.Rank(), to}.fill(part(src, to))
			}
		},
		wrong: func(round uint64) (wrong int) {
			for from := range n {
				wrong += stream{round, from, team.Rank()}.wrong(part(dst, from))
			}
			return wrong
		},
		arrived: dst,
		bytes:   int64(n) * bytes,
		close: func(ctx context.Context) error {
			if err := done(ctx); err != nil {
				return err
			}
			return free(ctx)
		},
	}, nil
}

// openMove is one all-to-all by the engine that was asked for. What the front
// door would choose by size is forced here by using the engine as it does.
func openMove(ctx context.Context, team *symmem.Team, engine string, dst, src []byte) (move, done func(context.Context) error, err error) {
	size := len(src) / team.Size()
	call := symmem.Record{Op: symmem.OpAllToAll, EltSize: 1, Count: uint64(size)}
	switch engine {
	case "ll16":
		call.Engine = symmem.EngineLL16
		blocks, err := lla2a.OpenBlocks(ctx, team, call, size)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) error { return blocks.AllToAll(ctx, call, dst, src, size) }, blocks.Close, nil
	case "ce":
		call.Engine = symmem.EngineCE
		s, err := ce.OpenFor(ctx, team, call, ce.Options{})
		if err != nil {
			return nil, nil, err
		}
		parts := make([]ce.Part, team.Size())
		for r := range parts {
			parts[r] = ce.Part{Src: src[r*size:][:size], Dst: dst[r*size:][:size]}
		}
		return func(ctx context.Context) error { return s.Exchange(ctx, call, parts, false, nil) }, s.Close, nil
	case "auto":
		return func(ctx context.Context) error { return symwin.AllToAll(ctx, team, dst, src) },
			func(context.Context) error { return nil }, nil
	}
	return nil, nil, fmt.Errorf("no engine %q", engine)
}
