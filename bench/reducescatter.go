package bench

import (
	"context"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/symmem"
)

var reduceScatter = &op{
	name: "reducescatter",
	text: "the floats of all ranks are added up, BYTES of them on each",
	osu:  "osu_reduce_scatter", nccl: "reduce_scatter_perf", imb: "Reduce_scatter_block",
	low: 8, high: 1 << 20,
	total: perRank, bus: allButOwn, moved: allToAll.moved,
	ways: (&collective{
		name: "reducescatter", src: each, dst: one, own: ownBlock, reduces: true,
		call: func(ctx context.Context, team *symmem.Team, dst, src []byte) error {
			return symwin.ReduceScatter(ctx, team, floats(dst), floats(src), symwin.Sum)
		},
	}).ways(),
}
