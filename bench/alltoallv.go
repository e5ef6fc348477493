package bench

import (
	"context"

	"github.com/symwin/symwin"
)

var allToAllv = &op{
	name: "alltoallv",
	text: "every rank sends BYTES to every rank, which do not know how many come",
	osu:  "osu_alltoallv", imb: "Alltoallv",
	low: 8, high: 1 << 20,
	total: perRank, bus: allButOwn, moved: allToAll.moved,
	ways: []way{{
		engine: "auto", window: plus(destinationNeed, stagingNeed), memory: buffersNeed,
		open: openAllToAllv(func(bytes int64, from, to int) int { return int(bytes) }),
	}},
}

var allToAllvSkewed = &op{
	name: "alltoallv-skewed",
	text: "alltoallv with parts of 2/5 to 8/5 of BYTES",
	low:  8, high: 1 << 20,
	total: perRank, bus: allButOwn, moved: allToAll.moved,
	ways: []way{{
		engine: "auto", window: plus(skewed(destinationNeed), stagingNeed), memory: skewed(buffersNeed),
		open: openAllToAllv(skew),
	}},
}

// skew is how much goes from one rank to another: 2/5, 4/5, 6/5 and 8/5 of bytes
// in turns, the mean of which is bytes.
func skew(bytes int64, from, to int) int { return int(bytes * int64(1+(from+to)%4) * 2 / 5) }

func skewed(need func(*config, task) int64) func(*config, task) int64 {
	return func(c *config, t task) int64 { return need(c, t) * 8 / 5 }
}

func openAllToAllv(count func(bytes int64, from, to int) int) func(ctx context.Context, r *rank, t task) (*exercise, error) {
	return func(ctx context.Context, r *rank, t task) (*exercise, error) {
		team, me, n := r.world.Team(), r.world.Rank(), r.Ranks
		srcCounts, dstCounts := make([]int, n), make([]int, n)
		sends, comes, most := 0, 0, 0
		for peer := range n {
			srcCounts[peer] = count(t.Bytes, me, peer)
			sends += srcCounts[peer]
			comes += count(t.Bytes, peer, me)
		}
		for rank := range n { // windows are as large on every rank
			all := 0
			for peer := range n {
				all += count(t.Bytes, peer, rank)
			}
			most = max(most, all)
		}
		dst, free, err := r.destination(ctx, t, most)
		if err != nil {
			return nil, err
		}
		src := make([]byte, sends)
		dst = dst[:comes]
		x := newExercise(t, me)
		x.close = free
		from, to := src, dst
		for peer := range n {
			there, here := srcCounts[peer], count(t.Bytes, peer, me)
			x.out, from = append(x.out, part{peer, from[:there]}), from[there:]
			x.in, to = append(x.in, part{peer, to[:here]}), to[here:]
		}
		x.collective(func(ctx context.Context) error {
			return symwin.AllToAllv(ctx, team, dst, dstCounts, src, srcCounts)
		})
		return x, nil
	}
}
