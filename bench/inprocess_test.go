package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

// inProcess measures with goroutine ranks and returns the rows. tamper gets the
// exercises of every rank.
func inProcess(t *testing.T, line string, tamper func(rank int, x *exercise)) []Row {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	q, err := parse(append(strings.Fields(line), "--window", "16M", "-i", "1", "--reps", "1"))
	require.NoError(t, err)
	j, err := q.job()
	require.NoError(t, err)
	spec, err := json.Marshal(j.config)
	require.NoError(t, err)
	var rest bytes.Buffer
	out := new(kept)
	crew := newCrew(&j.config, func(commands io.Reader, replies io.Writer) int {
		err := symmem.RunWith(ctx, symmem.Options{Size: j.Ranks, Window: j.Window}, func(ctx context.Context, w *symmem.World) error {
			var hand func(*exercise)
			if tamper != nil {
				hand = func(x *exercise) { tamper(w.Rank(), x) }
			}
			return runRank(ctx, w, []string{string(spec)}, commands, replies, hand)
		})
		if err != nil {
			fmt.Fprintln(&rest, err)
			return exitFailed
		}
		return 0
	}, &rest)
	err = (&driver{job: j, crew: crew, look: crew.look, out: out}).run(ctx)
	exit := crew.dismiss()
	require.Empty(t, rest.String())
	require.NoError(t, err)
	require.Zero(t, exit)
	return out.rows
}

// kept is an output that keeps rows as they are.
type kept struct{ rows []Row }

func (k *kept) row(r Row) error        { k.rows = append(k.rows, r); return nil }
func (k *kept) tails(Row, tails) error { return nil }
func (k *kept) end() error             { return nil }

func TestOperationsMoveEveryByteInProcess(t *testing.T) {
	for _, line := range []string{
		"barrier -n 1", "barrier -n 2", "barrier -n 5",
		"latency -m 1:1000 -f 10", "latency --engine ll16 -n 4 -m 8:4096 -f 512", "latency --engine ce -m 8:3001 -f 400",
		"put -m 1:3000 -f 100", "put -n 4 -m 8:8 --touch full",
		"bw -m 1:3000 -f 100", "bw -n 4 -m 100:100 --touch full", "bibw -m 8:3000 -f 100 --touch full",
		"rate -m 8:4096 -f 512", "rate -n 4 -m 8:8 --touch full",
		"alltoall -n 3 -m 1:5001 -f 9 --dst private", "alltoall -n 2 -m 8:5001 -f 700", "alltoall -n 1 -m 64:64",
		"alltoall -n 3 --engine ll64 -m 8:77 -f 9 --dst private", "alltoall -n 5 --engine ce -m 8:5001 -f 700",
		"alltoall -n 3 --engine bcopy -m 8:5001 -f 700", "alltoall -n 2 --engine bcopy -m 5001:5001 --dst private --touch full",
		"alltoall -n 3 --engine views -m 8:5001 -f 700 --touch read", "alltoall -n 2 --engine views -m 1:5001 -f 50 --touch full", "gather -n 3 --engine bcopy -m 5000:5000", "allreduce -n 3 --engine bcopy -m 4000:4000 --dst private",
		"alltoall -n 3 -m 7:5001 -f 9 --touch read", "alltoall -n 3 -m 7:5001 -f 9 --touch full",
		"alltoallv -n 3 -m 1:3000 -f 100 --touch full", "alltoallv-skewed -n 5 -m 1:3000 -f 100", "alltoallv-skewed -n 2 -m 64:64 --dst private",
		"allgather -n 3 -m 8:20001 -f 50", "allgather -n 2 -m 8:3000 -f 300 --inplace", "allgather -n 3 --engine ll64 -m 8:3000 -f 300 --touch full",
		"gather -n 3 -m 8:20001 -f 50", "gather -n 2 -m 8:3000 -f 300 --inplace --dst private", "gather -n 3 --engine ce -m 8:3000 -f 300 --touch full",
		"scatter -n 3 -m 8:20001 -f 50", "scatter -n 2 -m 8:3000 -f 300 --inplace", "scatter -n 3 --engine ll64 -m 8:3000 -f 300 --touch full",
		"broadcast -n 3 -m 8:200001 -f 500", "broadcast -n 2 --engine ce -m 8:3000 -f 300 --touch full",
		"reduce -n 3 -m 8:200008 -f 100", "reduce -n 2 -m 8:8 --inplace", "reduce -n 3 --engine ce -m 8:3200 -f 20 --touch full",
		"allreduce -n 3 -m 4:200000 -f 50", "allreduce -n 2 -m 8:800 -f 100 --inplace --dst private", "allreduce -n 3 --engine ll64 -m 8:3200 -f 20 --touch full",
		"reducescatter -n 3 -m 4:40000 -f 100", "reducescatter -n 2 -m 8:800 -f 100 --inplace", "reducescatter -n 3 --engine ce -m 8:3200 -f 20 --touch full",
	} {
		t.Run(line, func(t *testing.T) {
			q, err := parse(strings.Fields(line))
			require.NoError(t, err)
			rows := inProcess(t, line, nil)
			require.NotEmpty(t, rows)
			for _, r := range rows {
				require.Equal(t, q.words[0], r.Op)
				require.Positive(t, r.Iters)
				require.Positive(t, r.Min)
				require.GreaterOrEqual(t, r.P50, r.Min)
				require.GreaterOrEqual(t, r.P99, r.P50)
				require.GreaterOrEqual(t, r.Max, r.P99)
				require.Zero(t, *r.Wrong)
			}
		})
	}
}

// damages are what must never pass unseen. Each is told of an exercise when it
// is opened, before anything can have arrived, and gives what happens after the
// n-th call of its run.
var damages = map[string]func(x *exercise) func(n int){
	"one byte, once": func(x *exercise) func(n int) {
		return func(n int) {
			if n == 3 {
				last := x.in[len(x.in)-1].bytes
				last[len(last)-1] ^= 1
			}
		}
	},
	"stale data": func(x *exercise) func(n int) {
		var stale [][]byte
		for _, p := range x.in {
			stale = append(stale, slices.Clone(p.bytes))
		}
		return func(int) {
			for k, p := range x.in {
				copy(p.bytes, stale[k])
			}
		}
	},
}

func TestDamagedDataIsFound(t *testing.T) {
	for _, line := range []string{
		"latency --engine ll16 -m 8:8", "latency --engine ce -m 1001:1001", "put -m 64:64", "bibw -m 8:8", "rate -m 8:8",
		"alltoall -n 3 -m 8:8", "alltoall --engine ce -n 2 -m 4097:4097 --dst private", "alltoall -n 2 -m 64:64 --touch full",
		"alltoallv-skewed -n 2 -m 99:99", "allgather -n 3 -m 64:64", "broadcast -n 2 -m 3000:3000", "scatter -n 3 -m 8:8", "allreduce -n 2 -m 400:400", "reducescatter -n 3 -m 80:80 --touch full",
	} {
		for what, damage := range damages {
			t.Run(line+" "+what, func(t *testing.T) {
				size := 0
				rows := inProcess(t, line, func(rank int, x *exercise) {
					if rank != 1 || len(x.in) == 0 || x.cpu != nil {
						return
					}
					size = len(x.in[0].bytes)
					run, calls, after := x.run, 0, damage(x)
					x.run = func(ctx context.Context, ops int) error {
						calls++
						err := run(ctx, ops)
						after(calls)
						return err
					}
				})
				require.Len(t, rows, 1)
				if what == "one byte, once" {
					require.Equal(t, 1, *rows[0].Wrong)
				} else {
					require.GreaterOrEqual(t, *rows[0].Wrong, size/2)
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
		x, err := openBarrier(ctx, r, task{})
		if err != nil {
			return err
		}
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
	for _, args := range [][]string{nil, {"{"}, {`{"ranks":3}`}} {
		err := symmem.Run(context.Background(), 1, func(ctx context.Context, w *symmem.World) error {
			return runRank(ctx, w, args, nil, nil, nil)
		})
		require.Error(t, err, "%q", args)
	}
}
