// Wordcount counts the words of all files under a directory, with as many
// processes as it is started with:
//
//	shmrun -n 2 --bind-to core wordcount DIR
//
// A word is a run of ASCII letters and digits, in lower case; every other byte
// separates. Each rank counts a share of the bytes; then each word goes to the
// rank that its hash names, its owner, which adds up what all ranks found. The
// exchange is in exchange.go. The answer is the same for every number of ranks,
// and what was read but not counted is told: a file that cannot be read is
// one line and exit status 1. So is one with content and no size, as in /proc.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/examples/internal/program"
)

const usage = `usage: wordcount [flags] DIR

Counts the words (runs of ASCII letters and digits, in lower case) of all
regular files under DIR. Under shmrun, or another launcher on one host, the
ranks share the work:

  shmrun -n 2 --bind-to core wordcount DIR

`

func main() { os.Exit(program.Main("wordcount", counting)) }

// counting is run with a line on rank 0's terminal that says how far it is.
func counting(ctx context.Context, w *symwin.World, args []string, stdout, stderr io.Writer) (int, error) {
	var p *progress
	if w.Rank() == 0 {
		p = newProgress(os.Stderr)
	}
	code, err := run(ctx, w, args, stdout, stderr, p)
	if err != nil {
		p.clear()
	}
	return code, err
}

// run is one rank of the program. It returns the exit status; an error besides
// is one that ends the job.
func run(ctx context.Context, w *symwin.World, args []string, stdout, stderr io.Writer, p *progress) (int, error) {
	flags := pflag.NewFlagSet("wordcount", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "print one JSON object")
	verify := flags.Bool("verify", false, "count once more in one process and compare every word")
	skip := flags.Bool("skip-errors", false, "exit with 0 although files could not be read")
	bad := func(format string, a ...any) (int, error) {
		if w.Rank() != 0 {
			return 0, nil // its exit status is the job's
		}
		p.clear()
		fmt.Fprintf(stderr, "wordcount: "+format+"\n", a...)
		return 2, nil
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, usage, flags.FlagUsages())
		return 0, nil
	case err != nil:
		return bad("%v; wordcount --help says what there is", err)
	case flags.NArg() != 1:
		return bad("one directory is wanted, %d were given; wordcount --help says more", flags.NArg())
	}
	dir := flags.Arg(0)
	if dir == "" {
		return bad("DIR is empty; wordcount . counts here")
	}

	j, err := newJob(ctx, w, p)
	if err != nil {
		return 1, err
	}
	res, err := j.count(ctx, dir)
	var noDir dirError
	switch {
	case errors.As(err, &noDir):
		return bad("%v", noDir)
	case errors.Is(err, errNoDir):
		return 0, nil
	case err != nil:
		return 1, err
	}
	var check *check
	if *verify {
		if check, err = j.verify(ctx); err != nil {
			return 1, err
		}
	}
	if w.Rank() != 0 {
		return 0, nil
	}

	p.clear()
	for _, f := range j.failures {
		fmt.Fprintf(stderr, "wordcount: %s: %s\n", f.Path, f.Reason)
	}
	if *asJSON {
		err = json.NewEncoder(stdout).Encode(res)
	} else {
		err = report(stdout, res, j, dir, check)
	}
	if err != nil {
		fmt.Fprintf(stderr, "wordcount: %v\n", err)
		return 1, nil
	}
	if check != nil && len(check.differs) > 0 {
		fmt.Fprintf(stderr, "wordcount: the count is wrong in %d of %d words, or files have changed: %s\n",
			len(check.differs), check.words, strings.Join(check.differs[:min(3, len(check.differs))], "; "))
		return 1, nil
	}
	if len(j.failures) > 0 && !*skip {
		return 1, nil
	}
	return 0, nil
}
