package symmem

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/symwin/symwin/internal/env"
)

// Options is what JoinWith needs to know. Join fills it from the environment.
type Options struct {
	// Job names the region; all ranks give the same, and one job at a time has
	// a name. Letters, digits and -_.@, up to 200.
	Job string
	// Rank is this process's number, 0 to Size-1; Size is how many there are,
	// up to 1024. Both zero with an empty Job: a world of one.
	Rank, Size int
	// Window is the address space of one rank's window in bytes, 0 for 1 GiB.
	// Memory is taken by Alloc, not by this.
	Window int64
	// Backing says where the windows lie.
	Backing Backing
	// JoinTimeout bounds Join, 0 for 30 s.
	JoinTimeout time.Duration
	// Stall is the deadline of one operation, 0 for 10 min, negative for none.
	Stall time.Duration
	// StallReport is after how long a wait tells, once and in one line, whom it
	// waits for; 0 for 10 s, negative for never.
	StallReport time.Duration
	// Report receives that line, and with SYMWIN_LOG=debug others; nil for
	// standard error. It may be called from any goroutine.
	Report func(line string)

	hosted bool // a launcher made the region
	pidfd  bool // SYMWIN_LIVENESS=pidfd
	debug  bool
}

const (
	defaultWindow      = 1 << 30
	heapWindow         = 16 << 20
	defaultJoinTimeout = 30 * time.Second
	defaultStall       = 10 * time.Minute
	defaultStallReport = 10 * time.Second
)

// withDefaults fills zeroes, from the variables that are not about who we are.
func (o Options) withDefaults(window int64) (Options, error) {
	for _, d := range []struct {
		field *time.Duration
		name  string
	}{
		{&o.JoinTimeout, env.KeyJoinTimeout},
		{&o.Stall, env.KeyStall},
		{&o.StallReport, env.KeyStallReport},
	} {
		if *d.field != 0 {
			continue
		}
		v, err := env.Duration(d.name)
		if err != nil {
			return o, usage("%v", err)
		}
		if *d.field = v; v == 0 {
			*d.field = -1
		}
	}
	if o.Window == 0 {
		if os.Getenv(env.KeyWindow) == "" {
			o.Window = window
		} else {
			v, err := env.Size(env.Get(env.KeyWindow))
			if err != nil {
				return o, usage("%s: %v", env.KeyWindow, err)
			}
			o.Window = v
		}
	}
	if o.Backing == BackingAuto {
		b, err := ParseBacking(env.Get(env.KeyBacking))
		if err != nil {
			return o, fmt.Errorf("%s: %w", env.KeyBacking, err)
		}
		o.Backing = b
	}
	switch v := env.Get(env.KeyLiveness); v {
	case "auto":
	case "pidfd":
		o.pidfd = true
	default:
		return o, usage("%s=%q: it is auto or pidfd", env.KeyLiveness, v)
	}
	o.debug = env.Get(env.KeyLog) == "debug"
	if o.Report == nil {
		o.Report = func(line string) { fmt.Fprintln(os.Stderr, line) }
	}
	return o, nil
}

// log tells, with SYMWIN_LOG=debug, what was found and chosen.
func (o *Options) log(format string, args ...any) {
	if o.debug {
		o.Report(fmt.Sprintf("symwin: rank %d: ", o.Rank) + fmt.Sprintf(format, args...))
	}
}

// fromEnvironment finds out who this process is: the first launcher in the table
// whose variables are there decides.
func fromEnvironment() (Options, error) {
	for _, l := range launchers {
		o, found, err := l.resolve()
		if err != nil {
			return Options{}, err
		}
		if found {
			return o, nil
		}
	}
	return Options{Rank: 0, Size: 1}, nil
}

// launcher knows one kind of launcher by the environment it leaves.
type launcher struct {
	name string
	// resolve reports whether its variables are there. They are an error if
	// only half of them are, or if they say that ranks are on other hosts.
	resolve func() (o Options, found bool, err error)
}

// launchers is the table, own variables first.
var launchers = []launcher{
	{"symwin", ownVariables},
	{"Open MPI", openMPI},
}

func ownVariables() (Options, bool, error) {
	job, rank, size := os.Getenv(env.KeyJob), os.Getenv(env.KeyRank), os.Getenv(env.KeySize)
	if job == "" && rank == "" && size == "" {
		return Options{}, false, nil
	}
	for _, v := range []struct{ name, value string }{{env.KeyJob, job}, {env.KeyRank, rank}, {env.KeySize, size}} {
		if v.value == "" {
			return Options{}, false, usage("%s is not set, but others of %s, %s, %s are: set all three or none",
				v.name, env.KeyJob, env.KeyRank, env.KeySize)
		}
	}
	o := Options{Job: job, hosted: os.Getenv(env.KeyHosted) == "1"}
	var err error
	if o.Rank, err = number(env.KeyRank); err != nil {
		return o, false, err
	}
	o.Size, err = number(env.KeySize)
	return o, true, err
}

// openMPI joins the ranks of one mpirun, if all of them are on this host.
func openMPI() (Options, bool, error) {
	const size, local, rank, key = "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_NAMESPACE"
	if os.Getenv(size) == "" {
		return Options{}, false, nil
	}
	var o Options
	n, err := number(size)
	if err != nil {
		return o, false, err
	}
	here, err := number(local)
	if err != nil {
		return o, false, err
	}
	if here != n {
		return o, false, usage("%s=%d but %s=%d: ranks are on other hosts, and shared memory ends at this one; run all on one host, or use MPI between hosts",
			size, n, local, here)
	}
	if o.Rank, err = number(rank); err != nil {
		return o, false, err
	}
	space := os.Getenv(key)
	if space == "" {
		return o, false, usage("%s is not set: this mpirun gives no name to the job; set %s, %s and %s by hand", key, env.KeyJob, env.KeyRank, env.KeySize)
	}
	o.Job, o.Size = hashedJob("ompi", space), n
	return o, true, nil
}

func number(name string) (int, error) {
	v := os.Getenv(name)
	if v == "" {
		return 0, usage("%s is not set", name)
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, usage("%s=%q is no number of ranks", name, v)
	}
	return n, nil
}
