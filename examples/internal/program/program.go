// Package program is how the examples behave as programs, so that each of them can
// be about its own matter. The invariants: rank 0 alone speaks, unless another rank
// is where something went wrong; what went wrong is told once, by the rank that met
// it first; and no rank is left waiting for one that has given up.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/symwin/symwin"
)

// Run is one rank of a program. It returns the exit status; an error besides is one
// that ends the job. Only rank 0's stdout and stderr lead anywhere.
type Run func(ctx context.Context, w *symwin.World, args []string, stdout, stderr io.Writer) (int, error)

// Main joins the job, runs one rank of the program called name with the arguments
// of this process, and returns its exit status: for os.Exit, behind nothing that is
// deferred.
func Main(name string, run Run) int {
	ctx := context.Background()
	w, err := symwin.Join(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	defer w.Close()
	stdout, stderr := io.Discard, io.Discard
	if w.Rank() == 0 {
		stdout, stderr = os.Stdout, os.Stderr
	}
	code, err := run(ctx, w, os.Args[1:], stdout, stderr)
	if err != nil {
		if !secondhand(err) {
			stderr = os.Stderr
		}
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		w.Abort(err)
	}
	return code
}

// secondhand errors come from what happened on another rank, which tells.
func secondhand(err error) bool {
	return errors.Is(err, symwin.ErrAborted) || errors.Is(err, symwin.ErrRankFailed) || errors.Is(err, symwin.ErrLeft)
}
