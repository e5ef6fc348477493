package bench

import (
	"context"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

var reduce = &op{
	name: "reduce",
	text: "the floats in every rank's BYTES are added up on rank 0",
	osu:  "osu_reduce", nccl: "reduce_perf", imb: "Reduce",
	low: 8, high: 1 << 20,
	total: vectorBytes, moved: everyVector,
	ways: (&collective{
		name: "reduce", src: one, dst: oneAtRoot, own: first, reduces: true,
		call: func(ctx context.Context, team *symmem.Team, dst, src []byte) error {
			return symwin.Reduce(ctx, team, floats(dst), floats(src), symwin.Sum, root)
		},
	}).ways(),
}

// floats is b as floats; what make and windows give is aligned for them.
func floats(b []byte) []float32 { return window.Typed[float32](b, len(b)/floatBytes) }
