package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/internal/launch"
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
// hand that to [RankMain]. Cancelling ctx ends the measurement.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	q, err := parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		help(stdout)
		return 0
	}
	if err != nil {
		return usage(stderr, err)
	}
	c, options, err := q.config()
	if err != nil {
		return usage(stderr, err)
	}
	spec, err := json.Marshal(c)
	if err != nil {
		return usage(stderr, err)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wrong int
	var broken error
	out := newOutput(q.format, stdout, c, machine(len(c.CPUs)))
	options.Stderr = stderr
	options.Stdout = &receiver{rest: stderr, take: func(m message) error {
		switch {
		case m.Row != nil:
			wrong += m.Row.Wrong
			broken = out.row(*m.Row)
		case m.Placement != nil:
			broken = out.placement(*m.Placement)
		}
		if broken != nil {
			cancel()
		}
		return broken
	}}
	result := launch.Run(ctx, options, []string{"/proc/self/exe", RankCommand, string(spec)})
	switch {
	case broken != nil:
		fmt.Fprintf(stderr, "shmrun bench: %v\n", broken)
		return exitFailed
	case result.ExitCode != 0:
		return result.ExitCode
	case wrong != 0:
		fmt.Fprintf(stderr, "shmrun bench: %d bytes arrived wrong\n", wrong)
		return exitFailed
	}
	return 0
}

func usage(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "shmrun bench: %v; see \"shmrun bench --help\"\n", err)
	return exitUsage
}

func help(w io.Writer) {
	fmt.Fprint(w, `shmrun bench measures, with ranks that it starts itself.

  shmrun bench [flags] OP [flags]

`)
	for _, o := range ops {
		fmt.Fprintf(w, "  %-10s %s\n", o.name, o.text)
	}
	fmt.Fprint(w, `
Each row is one size: the time of an operation in µs, median and 99th percentile
over blocks of at least 20 µs (2 ms where ranks share CPUs), each of which took as long as its slowest rank
says. Data changes from round to round and every byte is compared, outside the
clock; exit code 1 if any was wrong. BYTES are what one rank sends to one peer.

`, flagSet(new(request)).FlagUsagesWrapped(86))
}

func opNames() (names []string) {
	for _, o := range ops {
		names = append(names, o.name)
	}
	return names
}
