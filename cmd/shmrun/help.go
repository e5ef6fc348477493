package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/launch"
)

const about = `shmrun runs a program as N ranks on this host, over one symmetric region of
shared memory.
`

const runUsage, runBrief = "[flags] [--] PROGRAM [ARGS...]", "run PROGRAM, symwin's or any other"

const firstWord = `The first of these words is a command only as the very first word: "shmrun -- ps"
and "shmrun -n 2 ps" run the program ps. Flags end at PROGRAM.
`

const rest = `Sizes are bytes or 64K, 16M, 1G (powers of 1024). Bare numbers in TIME are seconds.

Input goes to rank 0. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP
and SIGCONT are forwarded to all ranks and what they started; a second ^C, and a
second SIGTERM, kills them all, whatever other signals came between.
When one rank ends badly, the others get a second to notice, then SIGTERM, then
SIGKILL, and one line tells which rank ended how and what the others were doing.
However a job ends, what its ranks have started and left running is killed; only
what has left its rank's process group (setsid) lives on.

Exit code: 0 if all ranks exit with 0, else that of the first cause: the rank's
own, 128+N for signal N, 124 for a time-out; 2 for wrong usage, 126 and 127 for a
program that cannot be executed or found; 1 where shmrun itself failed, or could not
write all that the ranks wrote. The deadline of one operation (--stall) is a time-out
too.

ps and clean see only the jobs of the directory $SYMWIN_SHM_DIR, else /dev/shm.
`

func help(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		fmt.Fprintf(stdout, "%s\n%s\n%s\n%s\n%s", about, usages(), firstWord, runFlags().FlagUsagesWrapped(86), rest)
		return 0
	case args[0] == "env":
		fmt.Fprintln(stdout, "The variables that symwin reads. shmrun sets the first ones for its ranks.")
		for _, v := range env.Table {
			fmt.Fprintf(stdout, "\n  %s\n      %s\n", withDefault(v), v.Text)
		}
		return 0
	}
	if own := command(args[0]); own != nil {
		return own([]string{"--help"}, stdout, stderr)
	}
	if meant := similar(args[0]); meant != "" {
		return complain(stderr, exitUsage, "no help on %q; did you mean \"shmrun help %s\"?", args[0], meant)
	}
	return complain(stderr, exitUsage, "no help on %q; there is \"shmrun help\", which lists the commands, and \"shmrun help env\"", args[0])
}

// usages lists the commands, a line each.
func usages() string {
	var b strings.Builder
	line := func(usage, brief string) { fmt.Fprintf(&b, "  shmrun %-32s %s\n", usage, brief) }
	line(runUsage, runBrief)
	for _, c := range shown() {
		line(c.usage, c.brief)
	}
	return b.String()
}

// helpOn writes the help of one of shmrun's own commands.
func helpOn(name string, stdout io.Writer) {
	for _, c := range shown() {
		if c.name != name {
			continue
		}
		fmt.Fprintf(stdout, "shmrun %s   %s\n", c.usage, c.brief)
		if c.text != "" {
			fmt.Fprintf(stdout, "\n%s", c.text)
		}
		if c.flags != nil {
			fmt.Fprintf(stdout, "\n%s", c.flags.FlagUsages())
		}
	}
}

// runFlags are those before PROGRAM.
func runFlags() *pflag.FlagSet {
	fs := flagSet("shmrun")
	launch.OutputFlags(fs, launch.Flags(fs))
	return fs
}

func withDefault(v env.Var) string {
	if v.Default == "" {
		return v.Name
	}
	return v.Name + " (" + v.Default + ")"
}

func version(args []string, stdout, stderr io.Writer) int {
	if code, done := parseOwn(flagSet("version"), args, stdout, stderr); done {
		return code
	}
	fmt.Fprintf(stdout, "shmrun %s, %s, %s/%s\n", moduleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0
}

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
