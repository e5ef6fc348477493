package symwin_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
)

// TestSteadyStateAllocatesNothing, in either engine, in one step or two.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	const n = 3
	for _, count := range []int{2, 20_000} {
		dst, src := [n][]float32{}, [n][]float32{}
		for r := range n {
			dst[r], src[r] = make([]float32, n*count), make([]float32, n*count)
		}
		counts, got := []int{count, count, count}, [n][]int{make([]int, n), make([]int, n), make([]int, n)}
		for name, f := range map[string]func(ctx context.Context, t *symwin.Team, me int) error{
			"alltoall": func(ctx context.Context, t *symwin.Team, me int) error {
				return symwin.AllToAll(ctx, t, dst[me], src[me])
			},
			"alltoallv": func(ctx context.Context, t *symwin.Team, me int) error {
				return symwin.AllToAllv(ctx, t, dst[me], got[me], src[me], counts)
			},
			"allgather": func(ctx context.Context, t *symwin.Team, me int) error {
				return symwin.AllGather(ctx, t, dst[me], src[me][:count])
			},
			"allgatherv": func(ctx context.Context, t *symwin.Team, me int) error {
				return symwin.AllGatherv(ctx, t, dst[me], got[me], src[me][:count])
			},
			"gather": func(ctx context.Context, t *symwin.Team, me int) error {
				return symwin.Gather(ctx, t, dst[me], src[me][:count], 1)
			},
			"scatter": func(ctx context.Context, t *symwin.Team, me int) error {
				return symwin.Scatter(ctx, t, dst[me][:count], src[me], 1)
			},
			"broadcast": func(ctx context.Context, t *symwin.Team, me int) error { return symwin.Broadcast(ctx, t, dst[me], 1) },
			"reduce": func(ctx context.Context, t *symwin.Team, me int) error {
				return symwin.Reduce(ctx, t, dst[me], src[me], symwin.Sum, 1)
			},
			"allreduce": func(ctx context.Context, t *symwin.Team, me int) error {
				return symwin.AllReduce(ctx, t, dst[me], src[me], symwin.Sum)
			},
			"reducescatter": func(ctx context.Context, t *symwin.Team, me int) error {
				return symwin.ReduceScatter(ctx, t, dst[me][:count], src[me], symwin.Sum)
			},
			"barrier": func(ctx context.Context, t *symwin.Team, me int) error { return symwin.Barrier(ctx, t) },
		} {
			t.Run(fmt.Sprint(name, count), func(t *testing.T) {
				var allocs float64
				require.NoError(t, symwin.Run(context.Background(), n, func(ctx context.Context, w *symwin.World) error {
					once := func() {
						if err := f(ctx, w.Team(), w.Rank()); err != nil {
							panic(err)
						}
					}
					once()
					if w.Rank() == 0 {
						allocs = testing.AllocsPerRun(50, once)
						return nil
					}
					for range 51 {
						once()
					}
					return nil
				}))
				require.Zero(t, allocs)
			})
		}
	}
}
