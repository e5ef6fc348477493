package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/launch"
	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
)

const psText = `For each rank: its process, whether it lives, its latest call, and, where it waits,
for which ranks and how long. Jobs whose regions lie in another directory
($SYMWIN_SHM_DIR) are not seen.
`

type psOptions struct{ json, verbose bool }

func psFlags() (*pflag.FlagSet, *psOptions) {
	fs, o := flagSet("ps"), new(psOptions)
	fs.BoolVar(&o.json, "json", false, "one JSON array of jobs")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "also each rank's last calls, up to 64, oldest first, and which calls wait for whom")
	return fs, o
}

// ps tells the live regions of this user.
func ps(args []string, stdout, stderr io.Writer) int {
	fs, o := psFlags()
	if code, done := parseOwn(fs, args, stdout, stderr); done {
		return code
	}
	found, err := symmem.Regions()
	if err != nil {
		return complain(stderr, exitFailed, "%v", err)
	}
	code := 0
	jobs := []symmem.Snapshot{}
	for _, f := range found {
		s, err := symmem.Observe(f.Pid, f.Fd)
		if err != nil {
			code = complain(stderr, exitFailed, "a region held by process %d: %v", f.Pid, err)
			continue
		}
		if !o.verbose {
			for r := range s.Ranks {
				s.Ranks[r].Records = nil
			}
		}
		jobs = append(jobs, s)
	}
	if o.json {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		if err := out.Encode(jobs); err != nil {
			return complain(stderr, exitFailed, "%v", err)
		}
		return code
	}
	if len(jobs) == 0 && code == 0 {
		fmt.Fprintln(stdout, "no live jobs")
	}
	for _, s := range jobs {
		show(stdout, s)
		if o.verbose {
			for _, line := range launch.Unfinished(s) {
				fmt.Fprintf(stdout, "  %s\n", line)
			}
		}
	}
	return code
}

// show writes one job for people.
func show(w io.Writer, s symmem.Snapshot) {
	fmt.Fprintf(w, "job %s: %s, window %s in %v, %s\n", s.Job, launch.Count(s.Size), env.FormatSize(s.Window), s.Backing, state(s))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  RANK\tPID\tLIFE\tLATEST CALL\tWAITS FOR\tSINCE")
	for _, r := range s.Ranks {
		pid, call := "-", "-"
		if r.Pid != 0 {
			pid = fmt.Sprint(r.Pid)
		}
		if r.Call.Op != symmem.OpNone {
			call = r.Call.String()
		}
		life := r.Life.String()
		if r.Process != "" {
			life = r.Process
		}
		if len(r.Waits) == 0 {
			fmt.Fprintf(t, "  %d\t%s\t%s\t%s\t-\t-\n", r.Rank, pid, life, call)
		}
		for _, wait := range r.Waits {
			fmt.Fprintf(t, "  %d\t%s\t%s\t%v\t%s\t%v\n", r.Rank, pid, life, wait.Call, topo.FormatList(wait.Missing), wait.Since.Round(time.Millisecond))
		}
		for _, call := range r.Records {
			fmt.Fprintf(t, "  \t\t\t  %v\t\t\n", call)
		}
	}
	t.Flush()
}

// state tells in few words how far a job is.
func state(s symmem.Snapshot) string {
	come := 0
	for _, r := range s.Ranks {
		if r.Life != symmem.NotCome {
			come++
		}
	}
	switch {
	case s.Abort != nil && s.Abort.Author < 0:
		return fmt.Sprintf("aborted by the launcher (%v: %s)", s.Abort.Kind, s.Abort.Text)
	case s.Abort != nil:
		return fmt.Sprintf("aborted by rank %d (%v: %s)", s.Abort.Author, s.Abort.Kind, s.Abort.Text)
	case come == 0:
		return "no rank has joined (perhaps not a symwin program)"
	case come < s.Size:
		return fmt.Sprintf("joining (%d of %d have come)", come, s.Size)
	}
	return "running"
}
