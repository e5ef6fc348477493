// Package launch starts the ranks of a job on this host, binds them to CPUs,
// watches them, and ends all of them when one ends badly. The command shmrun is
// its command line; bench and tests use it too.
//
// Invariant: when [Run] returns, and also when the process that runs it is
// killed, no rank lives, nothing that a rank had started lives, and the region's
// name is gone. Three things keep it:
// Run itself; the kernel, which kills a rank when the thread that started it
// ends; and the guardian, a process that outlives the launcher just long enough
// to kill what the ranks had started and to take the name away. Only what has
// left its rank's process group on purpose (setsid, a shell with job control)
// escapes all three.
package launch

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
)

// MaxRanks is the largest job.
const MaxRanks = 1024

// Options says how a job is run. The zero value is a good job: a rank for each
// usable CPU, no input, no output. [Flags] fills the first part from a command
// line.
type Options struct {
	N               int            // ranks; 0: as many as there are usable CPUs
	BindTo          topo.Policy    // "": share
	Window          int64          // bytes of one rank's window; 0: SYMWIN_WINDOW, else 1 GiB
	Backing         symmem.Backing // BackingAuto: SYMWIN_BACKING, else whatever has room
	Timeout         time.Duration  // of the whole job; 0: none
	Stall           time.Duration  // SYMWIN_STALL of the ranks; 0: inherited; negative: none
	StallReport     time.Duration  // SYMWIN_STALL_REPORT of the ranks; 0: inherited; negative: never
	Env             []string       // further NAME=VALUE for the ranks; they win over the inherited ones
	TagOutput       bool           // whole lines only, each with its "[rank] "
	TimestampOutput bool           // the same, behind the seconds since the start
	OutputDir       string         // files DIR/rank-03.out and .err instead of Stdout and Stderr, written anew; "": none
	ReportBindings  bool           // tell each rank's CPUs before the start
	Verbose         bool           // tell what is started and how it ended

	// Stdin is what rank 0 reads, through a pipe; the others, and with nil all,
	// read /dev/null. A reader that is no *os.File is read until it ends, also
	// beyond the end of the job.
	Stdin io.Reader
	// Stdout and Stderr receive the ranks' output, nil drops it. An *os.File is
	// inherited by the ranks unless their lines are tagged; into anything else at
	// most one goroutine writes at a time. What the launcher itself has to say
	// goes to Stderr, in lines that begin with "shmrun: ".
	Stdout, Stderr io.Writer
}

// Result is how a job ended.
type Result struct {
	ExitCode int    // 0, or that of the first cause: the rank's own, 128+signal, 124 (time-out), 126, 127, 2 (usage), 1 (the launcher's failure, lost output)
	Verdict  string // what Run told on Stderr about the end, "" where there was nothing to tell
	Rank     int    // the rank that was the first cause, -1 where none was

	// Account is what it told behind the verdict, line by line: the calls that
	// could not end, and the last calls of every rank. See [Account].
	Account []string
}

// The exit codes that are not a rank's own.
const (
	exitUsage         = 2
	exitTimeout       = 124
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the signal's number
)

// complete fills in what was left open and checks the rest.
func (o Options) complete() (Options, error) {
	if o.N < 0 || o.N > MaxRanks {
		return o, fmt.Errorf("%d ranks: a job has 1 to %d", o.N, MaxRanks)
	}
	if o.BindTo == "" {
		o.BindTo = topo.Share
	}
	if o.N == 0 {
		cpus, err := topo.Usable()
		if err != nil {
			return o, err
		}
		o.N = min(len(cpus), MaxRanks)
		// 2 CPUs' worth of time on 64 CPUs are 2 ranks, and one CPU's is one:
		// the runtime, which knows the cgroup's limit too, never goes below 2.
		// Unless the user has told it otherwise.
		if os.Getenv("GOMAXPROCS") == "" {
			o.N = min(o.N, runtime.GOMAXPROCS(0))
			if quota, limited := topo.HereQuota(); limited {
				o.N = min(o.N, max(1, int(quota)))
			}
		}
	}
	for _, setting := range o.Env {
		if name, _, ok := strings.Cut(setting, "="); !ok || name == "" {
			return o, fmt.Errorf("%q is no NAME=VALUE", setting)
		}
	}
	return o, nil
}

// geometry is the region's shape, from the options or else the environment.
func (o *Options) geometry() (g symmem.Geometry, err error) {
	g = symmem.Geometry{Size: o.N, Window: o.Window, Backing: o.Backing}
	if g.Window == 0 {
		if g.Window, err = env.Size(env.Get(env.KeyWindow)); err != nil {
			return g, fmt.Errorf("%s: %s", env.KeyWindow, plain(err))
		}
	}
	if g.Backing == symmem.BackingAuto {
		if g.Backing, err = symmem.ParseBacking(env.Get(env.KeyBacking)); err != nil {
			return g, fmt.Errorf("%s: %s", env.KeyBacking, plain(err))
		}
	}
	return g, nil
}

// environ is what all ranks inherit: the launcher's environment without what
// each rank gets of its own, then the settings of o.
func (o *Options) environ(own []string) []string {
	var set []string
	for _, v := range []struct {
		name string
		d    time.Duration
	}{{env.KeyStall, o.Stall}, {env.KeyStallReport, o.StallReport}} {
		if v.d != 0 {
			set = append(set, v.name+"="+max(v.d, 0).String())
		}
	}
	// An inherited variable must not contradict the region that the flags made.
	if o.Window != 0 {
		set = append(set, env.KeyWindow+"="+env.FormatSize(o.Window))
	}
	if o.Backing != symmem.BackingAuto {
		set = append(set, env.KeyBacking+"="+o.Backing.String())
	}
	set = append(set, o.Env...)

	// The last of several settings of one name wins, and a name stands in the
	// environment once: C programs find the first, others the last.
	taken := map[string]bool{}
	for _, s := range own {
		taken[nameOf(s)] = true
	}
	var out []string
	for _, list := range [][]string{set, os.Environ()} {
		for i := len(list) - 1; i >= 0; i-- {
			if name := nameOf(list[i]); !taken[name] {
				taken[name] = true
				out = append(out, list[i])
			}
		}
	}
	return out
}

// checkSettings reads what the ranks will read, so that it is refused once and
// here, not by every rank of its own.
func (o *Options) checkSettings() error {
	for _, setting := range o.environ(nil) {
		name, value, _ := strings.Cut(setting, "=")
		if err := CheckSetting(name, value); err != nil {
			return err
		}
	}
	return nil
}

// CheckSetting says what is wrong with the value of one of the SYMWIN_* variables;
// an empty one is its default.
func CheckSetting(name, value string) (err error) {
	if value == "" {
		return nil
	}
	switch name {
	case env.KeyStall, env.KeyStallReport, env.KeyJoinTimeout:
		_, err = env.ParseDuration(value)
	case env.KeyWindow:
		_, err = env.Size(value)
	case env.KeyBacking:
		_, err = symmem.ParseBacking(value)
	case env.KeyLiveness:
		if value != "auto" && value != "pidfd" {
			err = fmt.Errorf("%q: it is auto or pidfd", value)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %s", name, plain(err))
	}
	return nil
}

// Count reads "1 rank", "2 ranks".
func Count(n int) string {
	if n == 1 {
		return "1 rank"
	}
	return fmt.Sprintf("%d ranks", n)
}

func nameOf(setting string) string {
	name, _, _ := strings.Cut(setting, "=")
	return name
}

// plan binds the ranks. Where nothing will be bound, /sys is not read: that is
// most of the cost of a short job with more ranks than CPUs.
func (o *Options) plan() (topo.Plan, error) {
	if o.BindTo == topo.None {
		return nil, nil
	}
	cpus, err := topo.Usable()
	if err != nil {
		return nil, err
	}
	if o.BindTo == topo.Share && o.N > len(cpus) {
		return nil, nil
	}
	machine, err := topo.Here()
	if err != nil {
		return nil, err
	}
	return machine.Plan(o.BindTo, o.N), nil
}
