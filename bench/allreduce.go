package bench

import (
	"context"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/symmem"
)

var allReduce = &op{
	name: "allreduce",
	text: "the floats in every rank's BYTES are added up on all",
	osu:  "osu_allreduce", nccl: "all_reduce_perf", imb: "Allreduce",
	low: 8, high: 1 << 20,
	total: vectorBytes, moved: everyVector, bus: func(n int) float64 { return 2 * allButOwn(n) },
	ways: (&collective{
		name: "allreduce", src: one, dst: one, own: first, reduces: true,
		call: func(ctx context.Context, team *symmem.Team, dst, src []byte) error {
			return symwin.AllReduce(ctx, team, floats(dst), floats(src), symwin.Sum)
		},
	}).ways(),
}
