// Fft solves Poisson's equation -Δu = f on a periodic square by two-dimensional
// Fourier transforms, with as many processes as it is started with:
//
//	shmrun -n 2 fft --rows 2048 --cols 2048
//
// Each rank has a share of the rows. It transforms them along the rows, the ranks
// transpose, and it transforms again, along what were columns: transform.go. In
// between every coefficient is divided by the square of its wave number; the
// inverse transform goes the same way back. The right side f is made from a known
// u, so the error is told with every run. The numbers are the same, to the bit,
// for every number of ranks.
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

const usage = `usage: fft [flags]

Solves -Δu = f on a periodic square of ROWS × COLS points by two-dimensional
Fourier transforms. Under shmrun, or another launcher on one host, the ranks
share the rows:

  shmrun -n 2 fft --rows 2048 --cols 2048

`

func main() { os.Exit(program.Main("fft", run)) }

// run is one rank of the program. It returns the exit status, the same on all
// ranks; an error besides is one that ends the job.
func run(ctx context.Context, w *symwin.World, args []string, stdout, stderr io.Writer) (int, error) {
	flags := pflag.NewFlagSet("fft", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	rows := flags.Int("rows", 1024, "`ROWS` of the grid")
	cols := flags.Int("cols", 1024, "`COLS` of the grid")
	reps := flags.Int("reps", 1, "solve `N` times and tell the shortest")
	check := flags.Bool("check", false, "transform once more on each rank alone, column by column, and compare every bit")
	bad := func(format string, a ...any) (int, error) {
		fmt.Fprintf(stderr, "fft: "+format+"\n", a...)
		return 2, nil
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, usage, flags.FlagUsages())
		return 0, nil
	case err != nil:
		return bad("%v; fft --help says what there is", err)
	case flags.NArg() > 0:
		return bad("%q: there are flags only; fft --help says which", flags.Arg(0))
	case *rows < 1 || *cols < 1 || *reps < 1:
		return bad("--rows %d --cols %d --reps %d: each has to be 1 or more", *rows, *cols, *reps)
	case *rows > mostPoints / *cols:
		return bad("--rows %d --cols %d: a grid has at most %d points", *rows, *cols, mostPoints)
	case *rows < fewest || *cols < fewest:
		return bad("--rows %d --cols %d: each has to be %d or more, or the waves of u cannot be told apart", *rows, *cols, fewest)
	}

	t, err := newTransform(ctx, w, *rows, *cols)
	if errors.Is(err, symwin.ErrNoSpace) {
		return bad("--rows %d --cols %d: %v", *rows, *cols, err)
	}
	if err != nil {
		return 1, err
	}
	res, err := solve(ctx, t, *reps)
	if err != nil {
		return 1, err
	}
	fmt.Fprintln(stdout, res)
	if !*check {
		return 0, nil
	}
	differ, err := compare(ctx, t)
	switch {
	case err != nil:
		return 1, err
	case differ > 0:
		fmt.Fprintf(stderr, "fft: %d of %d coefficients differ from those of one process\n", differ, *rows**cols)
		return 1, nil
	}
	fmt.Fprintf(stdout, "all %d coefficients are those of one process\n", *rows**cols)
	return 0, nil
}
