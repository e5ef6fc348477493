// Pipeline computes the area of the Mandelbrot set, each rank being a stage:
//
//	shmrun -n 2 --bind-to none pipeline
//
// The points of a grid come in blocks of rows. Stage r takes every point of a block
// through its part of the steps z ← z² + c, as long as it has not escaped, and
// hands the block to stage r+1. What a block costs a stage differs from block to block.
//
// The program runs twice: stages exchange a block and then compute the next, and
// stages exchange a block while they compute the next. The two differ in one line
// of step, in stage.go: Run, or Start and Wait. It tells what each took.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/examples/internal/program"
)

const usage = `usage: pipeline [flags]

Computes the area of the Mandelbrot set in a pipeline of as many stages as there
are ranks, twice: exchanging blocks before computing, and while computing.

  shmrun -n 2 --bind-to none pipeline

`

func main() { os.Exit(program.Main("pipeline", run)) }

// run is one rank of the program. It returns the exit status, the same on all
// ranks; an error besides is one that ends the job.
func run(ctx context.Context, w *symwin.World, args []string, stdout, stderr io.Writer) (int, error) {
	var g grid
	flags := pflag.NewFlagSet("pipeline", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&g.side, "side", 2048, "`POINTS` on a side of the grid")
	flags.IntVar(&g.rows, "rows", 16, "`ROWS` of it in a block")
	flags.IntVar(&g.steps, "steps", 256, "at most `N` steps in a stage")
	reps := flags.Int("reps", 3, "run each way `N` times, in turns, and tell the shortest")
	bad := func(format string, a ...any) (int, error) {
		fmt.Fprintf(stderr, "pipeline: "+format+"\n", a...)
		return 2, nil
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, usage, flags.FlagUsages())
		return 0, nil
	case err != nil:
		return bad("%v; pipeline --help says what there is", err)
	case flags.NArg() > 0:
		return bad("%q: there are flags only; pipeline --help says which", flags.Arg(0))
	case g.side < 1 || g.side > mostSide || g.rows < 1 || g.side%g.rows != 0 || g.steps < 1 || *reps < 1:
		return bad("--side %d --rows %d --steps %d --reps %d: each has to be 1 or more, the side at most %d and a multiple of the rows",
			g.side, g.rows, g.steps, *reps, mostSide)
	}

	s, err := newStage(ctx, w, g)
	if errors.Is(err, symwin.ErrNoSpace) {
		return bad("--side %d --rows %d: two blocks have to lie in a window: %v", g.side, g.rows, err)
	}
	if err != nil {
		return 1, err
	}
	res, err := s.compare(ctx, *reps)
	if err != nil {
		return 1, err
	}
	fmt.Fprint(stdout, res)
	return 0, nil
}
