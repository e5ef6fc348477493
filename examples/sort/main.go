// Sort sorts the lines of a file by their bytes, as LC_ALL=C sort does, with as
// many processes as it is started with and in bounded memory:
//
//	shmrun -n 2 sort IN OUT
//
// It is a sample sort. Each rank reads a share of IN; splitters drawn from a
// sample of all shares cut the keys into one range per rank; line by line what is
// read goes to the rank of its range (deal.go), piece by piece through AllToAllv,
// straight into the window where it is sorted (run.go). A full window is a sorted
// run, spilled to a temporary file; in the end each rank merges its runs (merge.go)
// into its part of OUT. What it takes is what --memory says, however long the file is.
//
// A failure on one rank is the same error on all: they agree on it (agree.go)
// before any goes on.
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

const usage = `usage: sort [flags] IN OUT

Sorts the lines of the file IN by their bytes, as LC_ALL=C sort does, into the
file OUT, which may be IN. Under shmrun, or another launcher on one host, the
ranks share the work:

  shmrun -n 2 sort IN OUT

`

func main() { os.Exit(program.Main("sort", run)) }

// run is one rank of the program. It returns the exit status, the same on all
// ranks; an error besides is one that ends the job.
func run(ctx context.Context, w *symwin.World, args []string, stdout, stderr io.Writer) (int, error) {
	flags := pflag.NewFlagSet("sort", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	memory := flags.Int("memory", 128, "`MIB` that a rank works in, or the size of its window if that is less; half of it lies there")
	temp := flags.String("temp", os.TempDir(), "`DIR` for what does not fit there")
	bad := func(format string, a ...any) (int, error) {
		fmt.Fprintf(stderr, "sort: "+format+"\n", a...)
		return 2, nil
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, usage, flags.FlagUsages())
		return 0, nil
	case err != nil:
		return bad("%v; sort --help says what there is", err)
	case flags.NArg() != 2:
		return bad("two files are wanted, IN and OUT, %d were given; sort --help says more", flags.NArg())
	}
	n, most := w.Size(), int(w.Geometry().Window>>20)
	if !flags.Changed("memory") {
		*memory = min(*memory, most)
	}
	if least := max(1, n*leastPiece*pieces>>20); *memory < least || *memory > min(most, 4096) {
		return bad("--memory %d: %d ranks with windows of %d MiB (shmrun --window) work in %d to %d MiB each", *memory, n, most, least, min(most, 4096))
	}

	j, err := newJob(ctx, w, *memory<<20, *temp)
	if err != nil {
		return 1, err
	}
	defer j.close()
	res, err := j.sort(ctx, flags.Arg(0), flags.Arg(1))
	var f *failure
	switch {
	case errors.As(err, &f):
		fmt.Fprintf(stderr, "sort: %v\n", f)
		return f.status, nil
	case err != nil:
		return 1, err
	}
	fmt.Fprintln(stdout, res)
	return 0, nil
}
