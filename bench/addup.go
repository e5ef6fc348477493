package bench

import (
	"context"
	"math"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/window"
)

const floatBytes = 4

// addUp makes an exercise of an operation in which src of all ranks, floats, are
// added up into dst, or a part of them: the r-th on rank r where src is longer.
// The floats are whole numbers so small that no sum of them is rounded.
func addUp(x *exercise, move func(context.Context) error, n, me int, dst, src []byte) {
	from, to := window.Typed[float32](src, len(src)/floatBytes), window.Typed[float32](dst, len(dst)/floatBytes)
	skip := 0
	if len(src) > len(dst) && len(dst) > 0 {
		skip = me * len(to)
	}
	x.load = func(round uint64) {
		for i := range from {
			from[i] = addend(round, me, i)
		}
	}
	x.wrong = func(round uint64) (wrong int) {
		for i, got := range to {
			want := float32(0)
			for r := range n {
				if x.hands.writes {
					want += rewrittenFloat(r, x.hands.count)
				} else {
					want += addend(round, r, skip+i)
				}
			}
			wrong += differing(uint64(math.Float32bits(got) ^ math.Float32bits(want)))
		}
		return wrong
	}
	if len(dst) > 0 {
		x.in = []part{{me, dst}}
	}
	x.repeat(func(ctx context.Context) error {
		if x.hands.writes {
			word := uint64(math.Float32bits(rewrittenFloat(me, x.hands.count)))
			line.Fill(src, word<<32|word)
		}
		if err := move(ctx); err != nil {
			return err
		}
		x.read()
		return nil
	})
}

// addend is what a rank has at a place in a round.
func addend(round uint64, rank, i int) float32 {
	return float32(stream{round, rank, rank}.word(i)&0xfff) + 1
}

// rewrittenFloat is what it has everywhere before its count-th operation.
func rewrittenFloat(rank int, count uint64) float32 { return float32(rewritten(rank, count)&0xfff) + 1 }
