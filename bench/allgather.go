package bench

import (
	"context"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/symmem"
)

var allGather = &op{
	name: "allgather",
	text: "every rank sends its BYTES to all",
	osu:  "osu_allgather", nccl: "all_gather_perf", imb: "Allgather",
	low: 8, high: 1 << 20,
	total: perRank, bus: allButOwn, moved: allToAll.moved,
	ways: (&collective{
		name: "allgather", src: one, dst: each, own: ownBlock,
		call: func(ctx context.Context, team *symmem.Team, dst, src []byte) error {
			return symwin.AllGather(ctx, team, dst, src)
		},
		parts: func(x *exercise, n, me int, dst, src []byte, size int) {
			x.out = []part{{me, src}}
			for r := range n {
				x.in = append(x.in, part{r, dst[r*size:][:size]})
			}
		},
	}).ways(),
}
