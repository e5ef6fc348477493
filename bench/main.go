package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/bench/peers"
)

// The exit codes that are not the ranks'.
const (
	exitFailed = 1
	exitUsage  = 2
)

// RankCommand is the hidden first argument with which [Main] starts this program
// again, as each of the ranks; what follows it is [RankMain]'s.
const RankCommand = "bench-rank"

// Main is "shmrun bench" with the arguments after it: it measures one operation
// with ranks that it starts itself, and writes a row for each size to stdout. It
// returns the exit code: 0; 1 if a byte arrived wrong or a rank failed; 2 for a
// command line that cannot be measured, told in one line on stderr before
// anything is started.
//
// The ranks are this very program, started with [RankCommand]; its main must
// hand that to [RankMain], and [peers.RankCommand] to [peers.RankMain]. Cancelling
// ctx ends the measurement.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return mainWith(ctx, args, stdout, stderr, peers.Open)
}

func mainWith(ctx context.Context, args []string, stdout, stderr io.Writer, open opener) int {
	q, err := parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		help(stdout)
		return 0
	}
	if err != nil {
		return usage(stderr, err)
	}
	j, err := q.job()
	if err != nil {
		return usage(stderr, err)
	}
	if j.file != "" {
		f, err := os.Create(j.file)
		if err != nil {
			return usage(stderr, fmt.Errorf("--out: %w", err))
		}
		defer f.Close()
		stdout = f
	}

	here, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if j.op.own != nil { // no ranks that a signal would end
		defer onSignal(here, cancel)()
	}
	d := &driver{job: j, rivals: openRivals(here, j, open), look: nowhere}
	defer func() {
		for _, r := range d.rivals {
			r.close()
		}
	}()
	if d.out, err = newOutput(stdout, j, newMeta(j, args, d.rivals)); err != nil {
		return broken(stderr, err)
	}
	exit := 0
	if j.op.own == nil {
		if d.crew, err = muster(ctx, j, stderr); err != nil {
			return broken(stderr, err)
		}
		d.look = d.crew.look
		go func() { // also where a peer is being measured: a signal has ended the ranks
			<-d.crew.ended
			cancel(errEnded)
		}()
	}
	err = d.run(here)
	if d.crew != nil {
		exit = d.crew.dismiss()
	}
	by := endedBy(0)
	switch {
	case exit != 0:
		return exit
	case err != nil && errors.As(context.Cause(here), &by):
		fmt.Fprintf(stderr, "shmrun bench: %v\n", by)
		return 128 + int(by)
	case err != nil:
		return broken(stderr, err)
	case d.wrong != 0:
		return broken(stderr, fmt.Errorf("%d bytes arrived wrong", d.wrong))
	}
	return 0
}

// nowhere is the placement of what has none.
func nowhere(context.Context) (placement, error) { return 0, nil }

func broken(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "shmrun bench: %v\n", err)
	return exitFailed
}

func usage(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "shmrun bench: %v; see \"shmrun bench --help\"\n", err)
	return exitUsage
}
