package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/launch"
)

const synopsis = `shmrun runs a program as N ranks on this host, over one symmetric region of
shared memory.

  shmrun [flags] [--] PROGRAM [ARGS...]   run PROGRAM, symwin's or any other
  shmrun bench ...                        measure; "shmrun bench --help"
  shmrun ps [--json] [-v]                 the live jobs of this user, rank by rank
  shmrun clean                            remove what jobs left that were killed while joining
  shmrun help [env]                       this text; the SYMWIN_* variables
  shmrun version

The first of these words is a command only as the very first word: "shmrun -- ps"
and "shmrun -n 2 ps" run the program ps. Flags end at PROGRAM.

`

const rest = `
Sizes are bytes or 64K, 16M, 1G (powers of 1024). Bare numbers in TIME are seconds.

Input goes to rank 0. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP
and SIGCONT are forwarded to all ranks and what they started; a second ^C, and a
second SIGTERM, kills them all, whatever other signals came between.
When one rank ends badly, the others get a second to notice, then SIGTERM, then
SIGKILL, and one line tells which rank ended how and what the others were doing.
However a job ends, what its ranks have started and left running is killed; only
what has left its rank's process group (setsid) lives on.

Exit code: 0 if all ranks exit with 0, else that of the first cause: the rank's
own, 128+N for signal N, 124 for a time-out; 2 for wrong usage, 126 and 127 for a
program that cannot be executed or found. The deadline of one operation (--stall)
is a time-out too.

ps and clean see only the jobs of the directory $SYMWIN_SHM_DIR, else /dev/shm.
`

func help(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		fs := flagSet("shmrun")
		launch.Flags(fs)
		fmt.Fprint(stdout, synopsis, fs.FlagUsagesWrapped(86), rest)
		return 0
	case args[0] == "env":
		fmt.Fprintln(stdout, "The variables that symwin reads. shmrun sets the first ones for its ranks.")
		for _, v := range env.Table {
			name := v.Name
			if v.Default != "" {
				name += " (" + v.Default + ")"
			}
			fmt.Fprintf(stdout, "\n  %s\n      %s\n", name, v.Text)
		}
		return 0
	}
	if own := command(args[0]); own != nil {
		return own([]string{"--help"}, stdout, stderr)
	}
	return complain(stderr, exitUsage, "no help on %q; there is \"shmrun help\" and \"shmrun help env\"", args[0])
}

func version(args []string, stdout, stderr io.Writer) int {
	if code, done := parseOwn(flagSet("version"), args, "shmrun version   tell this program's version\n", stdout, stderr); done {
		return code
	}
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	fmt.Fprintf(stdout, "shmrun %s, %s, %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0
}
