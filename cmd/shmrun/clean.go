package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/symmem"
)

const cleanText = `Once its ranks have joined, a job leaves nothing behind however it ends. Before,
and only if launcher and ranks are killed at one stroke, the region's name stays
until the next job starts or this command removes it. What any process still
holds is not touched. Only names in this environment's directory are seen
($SYMWIN_SHM_DIR, else /dev/shm).
`

// clean removes the names that killed jobs left.
func clean(args []string, stdout, stderr io.Writer) int {
	if code, done := parseOwn(flagSet("clean"), args, stdout, stderr); done {
		return code
	}
	jobs, err := symmem.Sweep()
	for _, job := range jobs {
		fmt.Fprintf(stdout, "removed job %s\n", job)
	}
	if err != nil {
		return complain(stderr, exitFailed, "%v", err)
	}
	if len(jobs) == 0 {
		fmt.Fprintln(stdout, "nothing to clean")
	}
	return 0
}

// parseOwn parses the arguments of a command that takes flags only. Where done,
// code is the exit code.
func parseOwn(fs *pflag.FlagSet, args []string, stdout, stderr io.Writer) (code int, done bool) {
	if err := fs.Parse(args); err == pflag.ErrHelp {
		helpOn(fs.Name(), stdout)
		return 0, true
	} else if err != nil {
		return complain(stderr, exitUsage, "%s: %v; see \"shmrun %s --help\"", fs.Name(), err, fs.Name()), true
	}
	if fs.NArg() > 0 {
		return complain(stderr, exitUsage, "%s: unexpected %q; see \"shmrun %s --help\"", fs.Name(), fs.Arg(0), fs.Name()), true
	}
	return 0, false
}
