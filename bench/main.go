package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

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
// with ranks that it starts itself, and writes a row for each size to stdout, or
// is one of the commands around that, which measure everything or compare. It
// returns the exit code: 0; 1 if a byte arrived wrong or a rank failed; 2 for a
// command line that cannot be measured, told in one line on stderr before
// anything is started; 128 and the number of a signal that ended it.
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
	if len(q.words) > 0 {
		if c := findAround(q.words[0]); c != nil {
			if err := q.suits(c); err != nil {
				return usage(stderr, err)
			}
			return c.run(ctx, q, args, stdout, stderr, open)
		}
	}
	return measureOne(ctx, q, args, stdout, stderr, open)
}

// measureOne measures one operation.
func measureOne(ctx context.Context, q *request, args []string, stdout, stderr io.Writer, open opener) int {
	if err := q.suits(nil); err != nil {
		return usage(stderr, err)
	}
	j, err := q.job()
	if err != nil {
		return usage(stderr, err)
	}
	if j.plot != "" {
		if err := j.drawable(); err != nil {
			return usage(stderr, err)
		}
	}
	papers, err := q.papers("out", "plot", "report")
	if err != nil {
		return usage(stderr, err)
	}
	defer papers.discard()
	if out := papers["out"]; out != nil {
		stdout = out
	}
	p := &chapter{job: j}
	progress := newProgress(stderr, j)
	e := j.measure(ctx, args, stderr, open, progress, func(m Meta) (output, error) {
		p.meta = m
		out, err := newOutput(stdout, j, m)
		return outputs{progress, out, p}, err
	})
	written := papers.end("out")
	if p.failed = e.text(); len(p.rows) > 0 { // also where not all of them are there
		written = errors.Join(written, papers.write("plot", p.draw),
			papers.write("report", document([]*chapter{p}, time.Now()).Write))
	}
	code := e.tell(stderr)
	if written != nil {
		code = max(code, broken(stderr, written))
	}
	return code
}

// ending is how a measurement ended: by an error, or, where what happened has been
// told already, with an exit code.
type ending struct {
	exit int
	err  error
}

func (e ending) tell(stderr io.Writer) int {
	by := endedBy(0)
	switch {
	case e.exit != 0:
		return e.exit
	case errors.As(e.err, &by):
		_ = broken(stderr, by)
		return by.code()
	case e.err != nil:
		return broken(stderr, e.err)
	}
	return 0
}

// text says why something is missing, or nothing.
func (e ending) text() string {
	switch {
	case e.exit != 0:
		return fmt.Sprintf("the ranks ended with exit code %d", e.exit)
	case e.err != nil:
		return e.err.Error()
	}
	return ""
}

// measure measures all rows of j, for an output that begin makes.
func (j *job) measure(ctx context.Context, args []string, stderr io.Writer, open opener, progress *progress, begin func(Meta) (output, error)) (e ending) {
	here, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Ranks that run get a signal from their launcher, and it tells; but peers are
	// opened before, which may take a while.
	defer onSignal(here, cancel)()
	d := &driver{job: j, rivals: openRivals(here, j, open), progress: progress}
	defer func() {
		for _, r := range d.rivals {
			r.close()
		}
	}()
	if e.err = context.Cause(here); e.err != nil {
		return e
	}
	if d.out, e.err = begin(newMeta(j, args, d.rivals)); e.err != nil {
		return e
	}
	ranks := j
	if j.op.own != nil {
		ranks = j.lookouts()
	}
	if d.crew, e.err = muster(ctx, ranks, stderr); e.err != nil {
		return e
	}
	d.look = d.crew.look
	go func() { // also where a peer is being measured: a signal has ended the ranks
		<-d.crew.ended
		cancel(errEnded)
	}()
	e.err = d.run(here)
	e.exit = d.crew.dismiss()
	progress.clear()
	if by := endedBy(0); errors.As(context.Cause(here), &by) {
		e.err = by
	}
	if e.err == nil && d.wrong != 0 {
		e.err = fmt.Errorf("%d bytes arrived wrong", d.wrong)
	}
	return e
}

func broken(stderr io.Writer, err error) int {
	for line := range strings.SplitSeq(err.Error(), "\n") { // one for each of several errors
		fmt.Fprintf(stderr, "shmrun bench: %s\n", line)
	}
	return exitFailed
}

func usage(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "shmrun bench: %v; see \"shmrun bench --help\"\n", err)
	return exitUsage
}
