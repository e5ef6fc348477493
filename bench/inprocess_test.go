package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/symmem"
)

// inProcess measures with goroutine ranks and returns rank 0's rows. tamper gets
// the exercises of every rank.
func inProcess(t *testing.T, c Config, tamper func(rank int, x *exercise)) (rows []Row, looks []Placement) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c.Window = 16 << 20
	args, err := json.Marshal(c)
	require.NoError(t, err)
	var out, rest bytes.Buffer
	err = symmem.RunWith(ctx, symmem.Options{Size: c.Ranks, Window: c.Window}, func(ctx context.Context, w *symmem.World) error {
		var hand func(*exercise)
		if tamper != nil {
			hand = func(x *exercise) { tamper(w.Rank(), x) }
		}
		return runRank(ctx, w, []string{string(args)}, &out, hand)
	})
	require.NoError(t, err)
	r := receiver{rest: &rest, take: func(m message) error {
		if m.Row != nil {
			rows = append(rows, *m.Row)
		} else {
			looks = append(looks, *m.Placement)
		}
		return nil
	}}
	_, err = r.Write(out.Bytes())
	require.NoError(t, err)
	require.Empty(t, rest.String())
	return rows, looks
}

func TestOperationsMoveEveryByteInProcess(t *testing.T) {
	for _, c := range []Config{
		{Op: "barrier", Engine: "auto", Ranks: 1},
		{Op: "barrier", Engine: "auto", Ranks: 2},
		{Op: "barrier", Engine: "auto", Ranks: 5},
		{Op: "latency", Engine: "auto", Ranks: 2, Sizes: []int64{1, 8, 100, 1024, 5000}},
		{Op: "latency", Engine: "ll16", Ranks: 4, Sizes: []int64{8, 4096}},
		{Op: "latency", Engine: "ce", Ranks: 2, Sizes: []int64{8, 3001}},
		{Op: "alltoall", Engine: "auto", Ranks: 3, Sizes: []int64{1, 8, 1000, 5001}, Dst: dstPrivate},
		{Op: "alltoall", Engine: "auto", Ranks: 2, Sizes: []int64{8, 5001}, Dst: dstWindow},
		{Op: "alltoall", Engine: "ll16", Ranks: 3, Sizes: []int64{8, 77}, Dst: dstPrivate},
		{Op: "alltoall", Engine: "ce", Ranks: 5, Sizes: []int64{8, 5001}, Dst: dstWindow},
		{Op: "alltoall", Engine: "auto", Ranks: 1, Sizes: []int64{64}, Dst: dstWindow},
	} {
		c.Iters = 1
		t.Run(fmt.Sprint(c.Op, c.Engine, c.Ranks, c.Dst), func(t *testing.T) {
			rows, looks := inProcess(t, c, nil)
			require.Len(t, rows, max(len(c.Sizes), 1))
			require.Len(t, looks, 2, "before and after")
			for i, r := range rows {
				require.Equal(t, [3]any{c.Op, c.Engine, c.Ranks}, [3]any{r.Op, r.Engine, r.Ranks})
				require.Positive(t, r.Iters)
				require.Positive(t, r.P50)
				require.GreaterOrEqual(t, r.P99, r.P50)
				require.Zero(t, r.Wrong)
				if len(c.Sizes) > 0 {
					require.Equal(t, c.Sizes[i], r.Bytes)
				}
			}
		})
	}
}

// damages are what must never pass unseen. Each replaces an exercise's run; n
// counts the calls.
var damages = map[string]func(x *exercise, run func(context.Context, int) error, n int32) func(context.Context, int) error{
	"one byte, once": func(x *exercise, run func(context.Context, int) error, n int32) func(context.Context, int) error {
		return func(ctx context.Context, ops int) error {
			err := run(ctx, ops)
			if n == 3 {
				x.arrived[len(x.arrived)-1] ^= 1
			}
			return err
		}
	},
	"the round before": func(x *exercise, run func(context.Context, int) error, n int32) func(context.Context, int) error {
		return func(ctx context.Context, ops int) error {
			stale := slices.Clone(x.arrived)
			err := run(ctx, ops)
			copy(x.arrived, stale)
			return err
		}
	},
}

func TestDamagedDataIsFound(t *testing.T) {
	for _, c := range []Config{
		{Op: "latency", Engine: "ll16", Ranks: 2, Sizes: []int64{8}},
		{Op: "latency", Engine: "ce", Ranks: 2, Sizes: []int64{1001}},
		{Op: "alltoall", Engine: "auto", Ranks: 3, Sizes: []int64{8}, Dst: dstWindow},
		{Op: "alltoall", Engine: "ce", Ranks: 2, Sizes: []int64{4097}, Dst: dstPrivate},
	} {
		for what, damage := range damages {
			t.Run(fmt.Sprint(c.Op, c.Engine, " ", what), func(t *testing.T) {
				c.Iters = 1
				rows, _ := inProcess(t, c, func(rank int, x *exercise) {
					if rank != 1 || x.arrived == nil {
						return
					}
					run, calls := x.run, int32(0)
					x.run = func(ctx context.Context, ops int) error {
						return damage(x, run, atomic.AddInt32(&calls, 1))(ctx, ops)
					}
				})
				require.Len(t, rows, 1)
				if what == "one byte, once" {
					require.Equal(t, 1, rows[0].Wrong)
				} else {
					require.GreaterOrEqual(t, rows[0].Wrong, int(c.Sizes[0])/2)
				}
			})
		}
	}
}

func TestABarrierThatLetsSomebodyThroughIsFound(t *testing.T) {
	err := symmem.Run(context.Background(), 2, func(ctx context.Context, w *symmem.World) error {
		board, err := openBoard(ctx, w.Team())
		if err != nil {
			return err
		}
		r := &rank{world: w, meter: &meter{board: board}}
		x := r.barrier()
		if w.Rank() == 0 {
			x.load(2)
		} else {
			x.load(1)
		}
		if err := x.run(ctx, 1); err != nil {
			return err
		}
		if x.wrong(1) != 0 || x.wrong(2) != 1 {
			return fmt.Errorf("wrong: %d of round 1, %d of round 2", x.wrong(1), x.wrong(2))
		}
		return nil
	})
	require.NoError(t, err)
}

func TestARankOfAnotherMeasurementIsRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"{"}, {`{"op":"dance"}`}, {`{"op":"barrier","ranks":3}`}} {
		err := symmem.Run(context.Background(), 1, func(ctx context.Context, w *symmem.World) error {
			return runRank(ctx, w, args, nil, nil)
		})
		require.Error(t, err, "%q", args)
	}
}
