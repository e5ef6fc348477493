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

// rank is one rank of a measurement. Between two commands it sleeps.
type rank struct {
	config
	world   *symmem.World
	meter   *meter
	stints  map[int]*stint
	opening int // the stint that is being opened
}

// RankMain is what each rank of a measurement runs: shmrun's hidden command
// "bench-rank", of which args are the rest. It joins, and does what the process
// that started it says, until there is nothing more to do. It returns the exit
// code.
func RankMain(ctx context.Context, args []string) int { return rankMain(ctx, args, nil) }

func rankMain(ctx context.Context, args []string, tamper func(*exercise)) int {
	w, err := symmem.Join(ctx)
	if err != nil {
		return failed(os.Stderr, -1, err)
	}
	defer w.Close()
	if err := runRank(ctx, w, args, os.Stdin, os.Stdout, tamper); err != nil {
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

// runRank does as one rank of w what the commands in stdin say, and writes the
// replies to stdout. Only rank 0 has to do with either. tamper is meter's.
func runRank(ctx context.Context, w *symmem.World, args []string, stdin io.Reader, stdout io.Writer, tamper func(*exercise)) error {
	r := &rank{world: w, stints: map[int]*stint{}}
	if len(args) != 1 {
		return fmt.Errorf("%w: a rank of a measurement is started by \"shmrun bench\"", symmem.ErrUsage)
	}
	if err := json.Unmarshal([]byte(args[0]), &r.config); err != nil {
		return err
	}
	if r.Ranks != w.Size() {
		return fmt.Errorf("%w: measuring with %d ranks, but the world has %d", symmem.ErrUsage, r.Ranks, w.Size())
	}
	board, err := openBoard(ctx, w.Team())
	if err != nil {
		return err
	}
	begin := time.Now()
	r.meter = &meter{board: board, now: func() time.Duration { return time.Since(begin) }, tamper: tamper}
	next := board.next
	if w.Rank() == 0 {
		commands := json.NewDecoder(stdin)
		next = func(context.Context) (c command, err error) {
			if err := commands.Decode(&c); err != nil {
				c = command{Do: doEnd} // whoever gave them is gone
			}
			return c, board.pass(c)
		}
	}
	for {
		c, err := next(ctx)
		if err != nil || c.Do == doEnd {
			return err
		}
		answer, err := r.do(ctx, c)
		if err == nil {
			err = board.team.Barrier(ctx)
		}
		if err == nil && w.Rank() == 0 {
			err = answer.write(stdout)
		}
		if err != nil {
			return err
		}
	}
}

// do is one command, by all ranks alike.
func (r *rank) do(ctx context.Context, c command) (answer reply, err error) {
	s := r.stints[c.ID]
	if s == nil && c.Do != doOpen {
		return answer, fmt.Errorf("%w: no stint %d", symmem.ErrUsage, c.ID)
	}
	switch c.Do {
	case doOpen:
		r.opening = c.ID
		s, err = r.open(ctx, *c.Task)
		r.stints[c.ID] = s
	case doMeasure:
		answer.slice, err = r.meter.measure(ctx, s, c.point)
	case doTails:
		answer.Tails, err = r.meter.tails(ctx, s, c.Budget)
	case doClose:
		delete(r.stints, c.ID)
		if s.close != nil {
			err = s.close(ctx)
		}
	}
	return answer, err
}

func (r *rank) open(ctx context.Context, t task) (s *stint, err error) {
	open := machineTasks[t.Op]
	if open == nil {
		o, err := findOp(t.Op)
		if err != nil {
			return nil, err
		}
		w, err := o.way(t.Engine)
		if err != nil {
			return nil, err
		}
		open = w.open
	}
	s = &stint{task: t}
	if s.exercise, err = open(ctx, r, t); err != nil {
		return nil, err
	}
	if r.meter.tamper != nil {
		r.meter.tamper(s.exercise)
	}
	return s, nil
}

// destination is n bytes for what arrives: in a window, where senders write to
// it themselves, or in private memory. free is collective.
func (r *rank) destination(ctx context.Context, t task, n int) (dst []byte, free func(context.Context) error, err error) {
	if t.Dst == dstPrivate {
		return make([]byte, n), func(context.Context) error { return nil }, nil
	}
	win, err := window.Alloc[byte](ctx, r.world, n)
	if err != nil {
		return nil, nil, err
	}
	return win.Local(), win.Free, nil
}
