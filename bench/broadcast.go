package bench

import (
	"context"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/symmem"
)

var broadcast = &op{
	name: "broadcast",
	text: "rank 0 sends the same BYTES to all",
	osu:  "osu_bcast", nccl: "broadcast_perf", imb: "Bcast",
	low: 8, high: 1 << 20,
	total: vectorBytes, moved: func(n int, bytes int64) int64 { return int64(n-1) * bytes },
	ways: (&collective{
		name: "broadcast", src: func(int, bool) int { return 0 }, dst: one,
		call: func(ctx context.Context, team *symmem.Team, dst, _ []byte) error {
			return symwin.Broadcast(ctx, team, dst, root)
		},
		parts: func(x *exercise, _, me int, dst, _ []byte, _ int) {
			if me == root {
				x.out = []part{{root, dst}}
			} else {
				x.in = []part{{root, dst}}
			}
		},
	}).ways(),
}
