package symwin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/ranktest"
)

func explain(t *testing.T, ranks int, op string, bytes int) (c symwin.Choice, err error) {
	require.NoError(t, runWith(symwin.Options{Size: ranks, Window: 2 << 20}, func(ctx context.Context, w *symwin.World) error {
		if w.Rank() == 0 {
			c, err = symwin.Explain(w.Team(), op, bytes)
		}
		return nil
	}))
	return c, err
}

func TestExplain(t *testing.T) {
	for _, op := range []string{"alltoall", "allgather", "gather", "scatter", "broadcast", "reduce", "allreduce", "reducescatter"} {
		for _, ranks := range []int{1, 2, 8, 16} {
			c, err := explain(t, ranks, op, 8)
			require.NoError(t, err)
			require.Equal(t, "ll64", c.Engine, "%s of %d", op, ranks)
			require.Equal(t, 1, c.Steps)
			c, err = explain(t, ranks, op, 64<<20)
			require.NoError(t, err)
			require.Equal(t, "ce", c.Engine, "%s of %d", op, ranks)
			require.Contains(t, c.String(), op+" of 67108864 bytes among "+fmt.Sprint(ranks)+": ce; more than")
			require.Contains(t, c.Why, "measured crossover")
		}
	}
	c, err := explain(t, 8, "allreduce", 64<<20)
	require.NoError(t, err)
	require.Equal(t, 2, c.Steps)
	require.Contains(t, c.Why, "in two steps")
	c, err = explain(t, 2, "alltoallv", 8)
	require.NoError(t, err)
	require.Equal(t, "ce", c.Engine)
	for _, v := range []struct {
		bytes, steps int
		engine       string
	}{{32, 1, "ll64"}, {33, 2, "ll64"}, {1 << 20, 2, "ce"}} {
		c, err = explain(t, 2, "allgatherv", v.bytes)
		require.NoError(t, err)
		require.Equal(t, v.engine, c.Engine)
		require.Equal(t, v.steps, c.Steps)
	}

	t.Setenv(env.KeyAlgo, "alltoall:ce, allreduce:3K,broadcast:ll64,gather:bcopy")
	c, err = explain(t, 2, "alltoall", 0)
	require.NoError(t, err)
	require.Equal(t, "ce", c.Engine)
	require.Contains(t, c.Why, "all of it is copied, by SYMWIN_ALGO=alltoall:ce")
	c, err = explain(t, 2, "gather", 0)
	require.NoError(t, err)
	require.Equal(t, "bcopy", c.Engine)
	require.Contains(t, c.Why, "through the staging ring, by SYMWIN_ALGO=")
	c, err = explain(t, 2, "allreduce", 3<<10)
	require.NoError(t, err)
	require.Equal(t, "ll64", c.Engine)
	c, err = explain(t, 2, "allreduce", 3<<10+1)
	require.NoError(t, err)
	require.Equal(t, "ce", c.Engine)
	c, err = explain(t, 2, "broadcast", 1<<30)
	require.NoError(t, err)
	require.Equal(t, "ce", c.Engine, "slots have an end")

	for _, bad := range []string{"", "barrier", "AllToAll", "send"} {
		_, err = explain(t, 2, bad, 8)
		require.ErrorIs(t, err, symwin.ErrUsage)
		require.ErrorContains(t, err, "no operation")
	}
	_, err = explain(t, 2, "alltoall", -1)
	require.ErrorIs(t, err, symwin.ErrUsage)
}

// otherTable joins with another SYMWIN_ALGO on rank 1: all are told by both.
func otherTable(ctx context.Context) error {
	w, err := symwin.Join(ctx)
	if err == nil {
		return errors.Join(errors.New("joined"), w.Close())
	}
	if !errors.Is(err, symwin.ErrMismatch) {
		return err
	}
	fmt.Println(err)
	return nil
}

func TestTablesAreComparedAtJoin(t *testing.T) {
	j := ranktest.New(t)
	j.Add(0, 3, "other-table")
	j.Add(1, 3, "other-table", env.KeyAlgo+"=alltoall:ce")
	j.Add(2, 3, "other-table")
	j.Wait()
	for _, r := range j.Ranks {
		require.Contains(t, r.Output(), `rank 1 chooses engines by table`)
		require.Contains(t, r.Output(), `with SYMWIN_ALGO="alltoall:ce", rank 0 by table`)
	}
}
