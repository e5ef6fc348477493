package bench

import (
	"context"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/symmem"
)

var gather = &op{
	name: "gather",
	text: "every rank sends its BYTES to rank 0",
	osu:  "osu_gather", nccl: "gather_perf", imb: "Gather",
	low: 8, high: 1 << 20,
	total: perRank, bus: allButOwn, moved: perRank,
	ways: (&collective{
		name: "gather", src: one, dst: eachAtRoot, own: ownBlock,
		call: func(ctx context.Context, team *symmem.Team, dst, src []byte) error {
			return symwin.Gather(ctx, team, dst, src, root)
		},
		parts: func(x *exercise, n, me int, dst, src []byte, size int) {
			x.out = []part{{me, src}}
			for r := range n {
				if me == root {
					x.in = append(x.in, part{r, dst[r*size:][:size]})
				}
			}
		},
	}).ways(),
}
