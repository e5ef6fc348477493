package bench

import (
	"context"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/symmem"
)

var scatter = &op{
	name: "scatter",
	text: "rank 0 sends every rank other BYTES",
	osu:  "osu_scatter", nccl: "scatter_perf", imb: "Scatter",
	low: 8, high: 1 << 20,
	total: perRank, bus: allButOwn, moved: perRank,
	ways: (&collective{
		name: "scatter", src: eachAtRoot, dst: one, own: ownBlock,
		call: func(ctx context.Context, team *symmem.Team, dst, src []byte) error {
			return symwin.Scatter(ctx, team, dst, src, root)
		},
		parts: func(x *exercise, n, me int, dst, src []byte, size int) {
			x.common = false
			x.in = []part{{root, dst}}
			for r := range n {
				if me == root {
					x.out = append(x.out, part{r, src[r*size:][:size]})
				}
			}
		},
	}).ways(),
}
