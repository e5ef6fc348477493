package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// rank is one rank of a measurement.
type rank struct {
	Config
	op    *op
	world *symmem.World
	meter *meter
	tell  func(message) error
}

// RankMain is what each rank of a measurement runs: shmrun's hidden command
// "bench-rank", of which args are the rest. It joins, measures, and on rank 0
// reports to the process that started it. It returns the exit code.
func RankMain(ctx context.Context, args []string) int { return rankMain(ctx, args, nil) }

func rankMain(ctx context.Context, args []string, tamper func(*exercise)) int {
	w, err := symmem.Join(ctx)
	if err != nil {
		return failed(os.Stderr, -1, err)
	}
	defer w.Close()
	if err := runRank(ctx, w, args, os.Stdout, tamper); err != nil {
		// All ranks return an agreed error, so one tells it; and whoever is told of
		// another's failure has nothing to add.
		if errors.Is(err, symmem.ErrNoSpace) && w.Rank() != 0 ||
			errors.Is(err, symmem.ErrAborted) || errors.Is(err, symmem.ErrRankFailed) {
			return code(err)
		}
		if !errors.Is(err, symmem.ErrNoSpace) {
			w.Abort(err)
		}
		return failed(os.Stderr, w.Rank(), err)
	}
	return 0
}

func code(err error) int {
	if errors.Is(err, symmem.ErrNoSpace) {
		return exitUsage
	}
	return exitFailed
}

func failed(stderr io.Writer, rank int, err error) int {
	if rank <= 0 {
		fmt.Fprintf(stderr, "shmrun bench: %v\n", err)
	} else {
		fmt.Fprintf(stderr, "shmrun bench: rank %d: %v\n", rank, err)
	}
	return code(err)
}

// runRank measures as one rank of w, and writes rank 0's messages to out. tamper
// is meter's.
func runRank(ctx context.Context, w *symmem.World, args []string, out io.Writer, tamper func(*exercise)) error {
	r := &rank{world: w, tell: func(message) error { return nil }}
	if len(args) != 1 {
		return fmt.Errorf("%w: a rank of a measurement is started by \"shmrun bench\"", symmem.ErrUsage)
	}
	err := json.Unmarshal([]byte(args[0]), &r.Config)
	if err == nil {
		r.op, err = findOp(r.Op)
	}
	if err != nil {
		return err
	}
	if r.Ranks != w.Size() {
		return fmt.Errorf("%w: measuring with %d ranks, but the world has %d", symmem.ErrUsage, r.Ranks, w.Size())
	}
	if w.Rank() == 0 {
		r.tell = func(m message) error { return m.write(out) }
	}
	board, err := openBoard(ctx, w.Team())
	if err != nil {
		return err
	}
	begin := time.Now()
	r.meter = &meter{board: board, shortest: blockFor(r.Ranks, len(r.CPUs)), now: func() time.Duration { return time.Since(begin) }, tamper: tamper}
	return r.measure(ctx)
}

// measure runs the operation between two looks at the placement.
func (r *rank) measure(ctx context.Context) error {
	if err := r.placement(ctx); err != nil {
		return err
	}
	if err := r.op.run(ctx, r); err != nil {
		return err
	}
	return r.placement(ctx)
}

// row measures x and reports it as row, in which the figures are filled in.
func (r *rank) row(ctx context.Context, x *exercise, row Row) error {
	res, err := r.meter.measure(ctx, x, r.Iters)
	if err != nil {
		return err
	}
	if x.close != nil {
		if err := x.close(ctx); err != nil {
			return err
		}
	}
	return r.report(res, row)
}

// report fills the figures into row. Only rank 0's reach anybody.
func (r *rank) report(res result, row Row) error {
	row.Op, row.Iters, row.P50, row.P99, row.Wrong = r.op.name, res.iters, res.p50, res.p99, res.wrong
	return r.tell(message{Row: &row})
}

// destination is n bytes for what arrives: in a window, where senders write to
// it themselves, or in private memory. free is collective.
func (r *rank) destination(ctx context.Context, n int) (dst []byte, free func(context.Context) error, err error) {
	if r.Dst == dstPrivate {
		return make([]byte, n), func(context.Context) error { return nil }, nil
	}
	win, err := window.Alloc[byte](ctx, r.world, n)
	if err != nil {
		return nil, nil, err
	}
	return win.Local(), win.Free, nil
}
