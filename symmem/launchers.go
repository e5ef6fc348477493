package symmem

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/symwin/symwin/internal/env"
)

// A launcher tells its processes who they are by environment variables. Those are
// inherited by everything below, so a program may find the variables of several
// launchers, or of one that has ended. What cannot be proved is refused here with
// the variable's name; what looks right but is stale shows when ranks do not come
// or a place is taken, and those errors then end with Options.origin.

// launcher is one of the foreign ones: the variables it sets for every process.
type launcher struct {
	name       string // as people call it
	short      string // begins the names of its jobs
	rank, size string
	// Every one of the ranks must be on this host. Either local counts those
	// that are, or hosts counts the hosts.
	local, hosts string
	// marks are the variables that say it was at work. More than one of them
	// is set by no other.
	marks []string
	// absent, if not nil, overrules the marks.
	absent func() bool
	// key is what no other job of this launcher has; the error is ErrUsage.
	key func(launcher) (string, error)
}

// starters is the table of launchers that start ranks on their own. They may run
// inside each other, and then nothing tells which is the inner one.
var starters = []launcher{
	{name: "Open MPI", short: "ompi", rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE", local: "OMPI_COMM_WORLD_LOCAL_SIZE",
		marks: []string{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, key: variables("PMIX_NAMESPACE")},
	{name: "MPICH", short: "mpich", rank: "PMI_RANK", size: "PMI_SIZE", local: "MPI_LOCALNRANKS",
		marks: []string{"PMI_RANK", "PMI_SIZE"}, key: proxy,
		// srun --mpi=pmi2 sets the same two; who those ranks are, Slurm's own say.
		absent: func() bool { return os.Getenv("MPI_LOCALNRANKS") == "" && slurm.present() }},
	{name: "torchrun", short: "torchrun", rank: "LOCAL_RANK", size: "WORLD_SIZE", local: "LOCAL_WORLD_SIZE",
		marks: []string{"TORCHELASTIC_RUN_ID", "LOCAL_WORLD_SIZE"},
		// The run's id is "none" unless somebody chose one; the port belongs
		// to one run at a time, and workers that are started again are a new job.
		key: variables("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT")},
}

// slurm lies below the others: mpirun itself may be a step of its, so it is asked
// only where none of them was at work.
var slurm = launcher{name: "Slurm", short: "slurm", rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS", hosts: "SLURM_STEP_NUM_NODES",
	marks: []string{"SLURM_STEP_ID"}, key: variables("SLURM_JOB_ID", "SLURM_STEP_ID"),
	// A batch script and the shell of salloc have the job's variables but are no
	// tasks of a step; some versions say so by a number from the top of 32 bits.
	absent: func() bool {
		step, err := strconv.ParseUint(os.Getenv("SLURM_STEP_ID"), 10, 32)
		return err != nil || step >= 0xffff_ff00
	}}

// halves are what is left of launchers whose other variables did not come through
// (ssh, sudo, a container): all the marks of one are set by no accident, and so
// many ranks as worlds of one would be wrong results without a word. They are
// asked last, since people set some of them for others' sake; one of them alone
// (RANK, WORLD_SIZE), or a size of 1, says nothing.
var halves = []launcher{
	{name: "torchrun", rank: "LOCAL_RANK", size: "WORLD_SIZE", local: "LOCAL_WORLD_SIZE",
		marks: []string{"LOCAL_RANK", "WORLD_SIZE"}, absent: one("WORLD_SIZE")},
	{name: "torchrun", rank: "LOCAL_RANK", size: "WORLD_SIZE", local: "LOCAL_WORLD_SIZE",
		marks: []string{"RANK", "WORLD_SIZE"}, absent: one("WORLD_SIZE")},
	// It tells a program's own MPI how many there are, and nobody else.
	{name: "prterun", rank: "PMIX_RANK", size: "OMPI_COMM_WORLD_SIZE", marks: []string{"PMIX_RANK", "PMIX_NAMESPACE"}},
	{name: "Slurm", rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS", key: slurm.key,
		marks: []string{"SLURM_PROCID", "SLURM_NTASKS"},
		// A batch script is the first task of its job, and of no step.
		absent: func() bool {
			batch := os.Getenv("SLURM_JOB_ID") != "" && os.Getenv("SLURM_PROCID") == "0"
			return batch || os.Getenv("SLURM_STEP_ID") != "" || os.Getenv("SLURM_NTASKS") == "1"
		}},
}

func one(size string) func() bool { return func() bool { return os.Getenv(size) == "1" } }

// fromEnvironment finds out who this process is: a rank by symwin's own variables,
// of one of the starters, of a step of Slurm's, or, with none of them, alone.
func fromEnvironment() (Options, error) {
	var at []launcher
	for _, l := range starters {
		if l.present() {
			at = append(at, l)
		}
	}
	switch {
	case len(set(own)) > 0:
		return ownVariables(at)
	case len(at) > 1:
		return Options{}, usage("%s (%s) and %s (%s) are set: one of them is left from an outer job, and which, nothing tells; start it by %s or by %s, or %s",
			shown(at[0].marks), at[0].name, shown(at[1].marks), at[1].name, without(at[0].marks), without(at[1].marks), byHand)
	case len(at) == 1:
		return at[0].resolve()
	case slurm.present():
		return slurm.resolve()
	}
	for _, l := range halves {
		if len(set(l.marks)) == len(l.marks) && l.present() {
			return l.resolve()
		}
	}
	return Options{Rank: 0, Size: 1}, nil
}

var own = []string{env.KeyJob, env.KeyRank, env.KeySize}

const byHand = "set " + env.KeyJob + ", " + env.KeyRank + " and " + env.KeySize

// ownVariables reads what shmrun or people have set; also are launchers that were
// at work, too.
func ownVariables(also []launcher) (o Options, err error) {
	for _, name := range own {
		if os.Getenv(name) == "" {
			return o, usage("%s is not set, though %s is: set %s, or none of them (start it by %s)",
				name, shown(own), strings.Join(own, ", "), without(own))
		}
	}
	o.Job, o.hosted = os.Getenv(env.KeyJob), os.Getenv(env.KeyHosted) == "1"
	if o.Rank, o.Size, err = placeOf(env.KeyRank, env.KeySize); err != nil {
		return o, fmt.Errorf("%w; set it right, or start it by %s", err, without(own))
	}
	switch {
	case len(also) > 0:
		o.origin = fmt.Sprintf("%s are set, and so is %s (%s): if it is %s that started this program, start it by %s",
			strings.Join(own, ", "), shown(also[0].marks), also[0].name, also[0].name, without(own))
	case o.hosted:
		o.origin = fmt.Sprintf("%s were set by shmrun: if this program is no rank of that job, but was started by one or after it, start it by %s",
			strings.Join(own, ", "), without(own))
	default:
		o.origin = fmt.Sprintf("the variables were set by hand: the %d processes need the same %s and %s, on one host and by one user, and each a %s of its own",
			o.Size, env.KeyJob, env.KeySize, env.KeyRank)
	}
	return o, nil
}

// present reports whether the launcher was at work.
func (l launcher) present() bool {
	return len(set(l.marks)) > 0 && (l.absent == nil || !l.absent())
}

// resolve reads the launcher's variables. They are an error if only some of them
// are there, or if they do not prove that all ranks are on this host.
func (l launcher) resolve() (o Options, err error) {
	for _, name := range []string{l.rank, l.size, l.local, l.hosts} {
		if name != "" && os.Getenv(name) == "" {
			return o, usage("%s is not set, though %s of %s is: %s", name, shown(l.marks), l.name, l.wayOut())
		}
	}
	rank, size, err := placeOf(l.rank, l.size)
	if err != nil {
		return o, fmt.Errorf("%w: %s", err, l.wayOut())
	}
	if l.local != "" {
		here, err := number(l.local)
		if err != nil {
			return o, fmt.Errorf("%w: %s", err, l.wayOut())
		}
		if here != size {
			return o, elsewhere(fmt.Sprintf("%s=%d but %s=%d", l.size, size, l.local, here))
		}
	}
	if l.hosts != "" {
		hosts, err := number(l.hosts)
		if err != nil {
			return o, fmt.Errorf("%w: %s", err, l.wayOut())
		}
		if hosts != 1 {
			return o, elsewhere(fmt.Sprintf("%s=%d", l.hosts, hosts))
		}
	}
	if size == 1 {
		return Options{Size: 1}, nil
	}
	key, err := l.key(l)
	if err != nil {
		return o, err
	}
	return Options{Job: hashedJob(l.short, key), Rank: rank, Size: size,
		origin: fmt.Sprintf("the job's name and size come from %s (%s=%d, %s=%d): %s", l.name, l.rank, rank, l.size, size, l.wayOut())}, nil
}

func (l launcher) wayOut() string {
	return fmt.Sprintf("if %s did not start this program, start it by %s; if it did, %s", l.name, without(l.marks), byHand)
}

func elsewhere(what string) error {
	return usage("%s: ranks are on other hosts, and shared memory ends at this one; run all on one host, or, for one world on each host, %s", what, byHand)
}

// placeOf reads a rank and how many there are.
func placeOf(rank, size string) (r, n int, err error) {
	if r, err = number(rank); err == nil {
		n, err = number(size)
	}
	if err == nil && (n < 1 || n > maxRanks) {
		err = usage("%s=%d: a job has 1 to %d ranks", size, n, maxRanks)
	}
	if err == nil && r >= n {
		err = usage("%s=%d and %s=%d: ranks count from 0, so the last of %d is %d", rank, r, size, n, n, n-1)
	}
	return r, n, err
}

func number(name string) (int, error) {
	v := os.Getenv(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, usage("%s=%q is no number from 0", name, v)
	}
	return n, nil
}

// variables is a key of several variables.
func variables(names ...string) func(launcher) (string, error) {
	return func(l launcher) (string, error) {
		var key []string
		for _, name := range names {
			v := os.Getenv(name)
			if v == "" {
				return "", usage("%s is not set: this %s gives no name to the job; %s", name, l.name, byHand)
			}
			key = append(key, v)
		}
		return strings.Join(key, "\n"), nil
	}
}

// proxy is the key of a launcher that names its jobs nowhere: the process that
// has started all ranks of this host. It is the parent, or above it where a shell
// or another program came between.
func proxy(l launcher) (string, error) {
	pid, started := ancestor("hydra_pmi_proxy")
	if started == 0 {
		return "", usage("the process that started this rank is not to be seen here (another PID namespace, or no /proc), and %s gives no other name to the job; %s", l.name, byHand)
	}
	return fmt.Sprintf("%d %d", pid, started), nil
}

// hashedJob makes a job name of a launcher's own key, which may hold anything.
func hashedJob(launcher, key string) string {
	sum := sha256.Sum256([]byte(key))
	return launcher + "-" + hex.EncodeToString(sum[:8])
}

// set lists those of the variables that are set.
func set(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return os.Getenv(name) == "" })
}

// shown is the first of the variables that is set, with its value.
func shown(names []string) string {
	name := set(names)[0]
	return name + "=" + os.Getenv(name)
}

// without is the command that starts a program without the variables.
func without(names []string) string {
	return "\"env -u " + strings.Join(set(names), " -u ") + " PROGRAM\""
}
