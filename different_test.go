package symwin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
)

type call struct {
	name string // of the call and what tells it from the others
	told string // part of what errors say
	make func(ctx context.Context, t *symwin.Team) error
}

// calls of parts of n elements. Each differs from each other.
func calls(n int) []call {
	const ranks = 3
	i64 := func(k int) []int64 { return make([]int64, k*n) }
	return []call{
		{"barrier", "barrier", symwin.Barrier},
		{"alltoall", "alltoall", func(ctx context.Context, t *symwin.Team) error {
			return symwin.AllToAll(ctx, t, i64(ranks), i64(ranks))
		}},
		{"alltoallv", "alltoallv", func(ctx context.Context, t *symwin.Team) error {
			return symwin.AllToAllv(ctx, t, i64(ranks), make([]int, ranks), i64(ranks), []int{n, n, n})
		}},
		{"allgather", "int64", func(ctx context.Context, t *symwin.Team) error { return symwin.AllGather(ctx, t, i64(ranks), i64(1)) }},
		{"allgather of uint64", "uint64", func(ctx context.Context, t *symwin.Team) error {
			return symwin.AllGather(ctx, t, make([]uint64, ranks*n), make([]uint64, n))
		}},
		{"allgatherv", "allgatherv", func(ctx context.Context, t *symwin.Team) error {
			return symwin.AllGatherv(ctx, t, i64(ranks), make([]int, ranks), i64(1))
		}},
		{"gather to 0", "int64 to rank 0", func(ctx context.Context, t *symwin.Team) error { return symwin.Gather(ctx, t, i64(ranks), i64(1), 0) }},
		{"gather to 1", "int64 to rank 1", func(ctx context.Context, t *symwin.Team) error { return symwin.Gather(ctx, t, i64(ranks), i64(1), 1) }},
		{"scatter", "scatter", func(ctx context.Context, t *symwin.Team) error { return symwin.Scatter(ctx, t, i64(1), i64(ranks), 1) }},
		{"broadcast from 0", "from rank 0", func(ctx context.Context, t *symwin.Team) error { return symwin.Broadcast(ctx, t, i64(1), 0) }},
		{"broadcast from 2", "from rank 2", func(ctx context.Context, t *symwin.Team) error { return symwin.Broadcast(ctx, t, i64(1), 2) }},
		{"reduce", "reduce", func(ctx context.Context, t *symwin.Team) error {
			return symwin.Reduce(ctx, t, i64(1), i64(1), symwin.Sum, 0)
		}},
		{"sum of int64", "int64 by sum", func(ctx context.Context, t *symwin.Team) error {
			return symwin.AllReduce(ctx, t, i64(1), i64(1), symwin.Sum)
		}},
		{"sum of fewer", fmt.Sprint(n - 1), func(ctx context.Context, t *symwin.Team) error {
			return symwin.AllReduce(ctx, t, i64(1)[1:], i64(1)[1:], symwin.Sum)
		}},
		{"max of int64", "int64 by max", func(ctx context.Context, t *symwin.Team) error {
			return symwin.AllReduce(ctx, t, i64(1), i64(1), symwin.Max)
		}},
		{"sum of float64", "float64 by sum", func(ctx context.Context, t *symwin.Team) error {
			return symwin.AllReduce(ctx, t, make([]float64, n), make([]float64, n), symwin.Sum)
		}},
		{"reducescatter", "reducescatter", func(ctx context.Context, t *symwin.Team) error {
			return symwin.ReduceScatter(ctx, t, i64(1), i64(ranks), symwin.Sum)
		}},
	}
}

// TestDifferentCalls: one of three ranks makes another call than the others. All
// are told, by both calls; at the latest in the collective that follows.
func TestDifferentCalls(t *testing.T) {
	for _, n := range []int{4, 9000} { // by lines and by copies
		all := calls(n)
		for i, usual := range all {
			for j, odd := range all {
				if i == j || testing.Short() && (i+j)%5 != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s and %s of %d", usual.name, odd.name, n), func(t *testing.T) {
					t.Parallel() // most of the time passes in waiting for a verdict
					different(t, usual, odd)
				})
			}
		}
	}
}

// TestDifferentEngines: two ranks go through lines and one copies.
func TestDifferentEngines(t *testing.T) {
	const n = 9000
	few, many := calls(4), calls(n)
	for i := range few {
		if few[i].name == "barrier" || few[i].name == "alltoallv" || few[i].name == "allgatherv" {
			continue // no engine, or counts that may differ
		}
		t.Run(few[i].name, func(t *testing.T) {
			t.Parallel()
			few[i].told, many[i].told = "(ll64: up to", "(ce: above"
			different(t, few[i], many[i])
		})
	}
}

func different(t *testing.T, usual, odd call) {
	errs := make([]error, 3)
	require.NoError(t, runWith(symwin.Options{Size: 3, Window: 4 << 20}, func(ctx context.Context, w *symwin.World) error {
		c := usual.make
		if w.Rank() == 1 {
			c = odd.make
		}
		if err := symwin.AllGather(ctx, w.Team(), make([]byte, 3), make([]byte, 1)); err != nil {
			return err
		}
		for range 2 { // a root returns at once
			if errs[w.Rank()] == nil {
				errs[w.Rank()] = c(ctx, w.Team())
			}
		}
		if errs[w.Rank()] == nil {
			errs[w.Rank()] = symwin.AllReduce(ctx, w.Team(), make([]int8, 1), make([]int8, 1), symwin.Sum)
		}
		return nil
	}))
	for _, err := range errs {
		require.ErrorIs(t, err, symwin.ErrMismatch)
	}
	require.ErrorContains(t, errors.Join(errs...), usual.told)
	require.ErrorContains(t, errors.Join(errs...), odd.told)
}
