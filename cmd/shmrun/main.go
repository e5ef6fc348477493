// Command shmrun runs a program as the ranks of a job on this host, which share
// one symmetric region of memory. "shmrun help" tells the rest.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/bench"
	"github.com/symwin/symwin/bench/peers"
	"github.com/symwin/symwin/internal/launch"
)

func main() { os.Exit(shmrun(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

const (
	exitFailed   = 1
	exitUsage    = 2
	exitNotFound = 127
)

func shmrun(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if own := command(args[0]); own != nil {
			return own(args[1:], stdout, stderr)
		}
	}
	return run(args, stdin, stdout, stderr)
}

// run starts a program.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fs := flagSet("shmrun")
	options := launch.Flags(fs)
	launch.OutputFlags(fs, options)
	if err := launch.Parse(fs, args, false); err != nil {
		return usageError(stdout, stderr, err)
	}
	argv := fs.Args()
	if len(argv) == 0 {
		return complain(stderr, exitUsage, "no program to run; \"shmrun -n 4 PROGRAM\" runs one, \"shmrun help\" tells the rest")
	}
	if command(argv[0]) != nil {
		if _, err := exec.LookPath(argv[0]); err != nil {
			meant := slices.Concat([]string{"shmrun", argv[0]}, args[:len(args)-len(argv)], argv[1:])
			return complain(stderr, exitNotFound, "%s: no such program in $PATH; did you mean %q?",
				argv[0], strings.Join(slices.DeleteFunc(meant, func(s string) bool { return s == "--" }), " "))
		}
	}
	if meant := similar(argv[0]); meant != "" && len(argv) == len(args) {
		if _, err := exec.LookPath(argv[0]); err != nil {
			return complain(stderr, exitNotFound, "%s: no such program in $PATH; did you mean %q?",
				argv[0], strings.Join(slices.Concat([]string{"shmrun", meant}, argv[1:]), " "))
		}
	}
	options.Stdin, options.Stdout, options.Stderr = stdin, stdout, stderr
	return launch.Run(context.Background(), *options, argv).ExitCode
}

// flagSet is an empty set of flags whose errors are told in one line by us.
func flagSet(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	fs.Usage = func() {}
	return fs
}

// usageError answers a command line that cannot be parsed, or that asks for help.
func usageError(stdout, stderr io.Writer, err error) int {
	if err == pflag.ErrHelp {
		return help(nil, stdout, stderr)
	}
	return complain(stderr, exitUsage, "%v; see \"shmrun help\"", err)
}

func complain(stderr io.Writer, code int, format string, args ...any) int {
	fmt.Fprintf(stderr, "shmrun: "+format+"\n", args...)
	return code
}

func benchmark(args []string, stdout, stderr io.Writer) int {
	return bench.Main(context.Background(), args, stdout, stderr)
}

func benchRank(args []string, _, _ io.Writer) int {
	return bench.RankMain(context.Background(), args)
}

func peerRank(args []string, _, _ io.Writer) int {
	return peers.RankMain(context.Background(), args)
}
