package main

import (
	"io"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/internal/doctor"
)

const doctorText = `CPUs and the cgroup's quota, memory and its limits, /dev/shm, page sizes, NUMA nodes,
how the end of a process is noticed, what processes of one user may do with each
other, and how long a line goes from one CPU to another: each is ok, a note, a
warning or an error, with what to do about it. It takes about half a second, and
leaves nothing behind.

Exit code: 0, or 1 if an error makes symwin unusable here.
`

func doctorFlags() (fs *pflag.FlagSet, asJSON *bool) {
	fs = flagSet("doctor")
	return fs, fs.Bool("json", false, "one JSON object: usable, findings, and the facts they rest on")
}

// diagnose looks at the machine.
func diagnose(args []string, stdout, stderr io.Writer) int {
	fs, asJSON := doctorFlags()
	if code, done := parseOwn(fs, args, stdout, stderr); done {
		return code
	}
	facts, err := doctor.Gather()
	if err != nil {
		return complain(stderr, exitFailed, "doctor: %v on this system: it needs Linux", err)
	}
	findings := doctor.Judge(facts)
	if *asJSON {
		err = doctor.WriteJSON(stdout, facts, findings)
	} else {
		err = doctor.Write(stdout, findings)
	}
	switch {
	case err != nil:
		return complain(stderr, exitFailed, "doctor: %v", err)
	case !doctor.Usable(findings):
		return exitFailed
	}
	return 0
}

func doctorChild(args []string, _, _ io.Writer) int { return doctor.Child(args) }
