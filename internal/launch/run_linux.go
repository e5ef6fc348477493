package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/guardian"
	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
	"golang.org/x/sys/unix"
)

// Run starts argv as the ranks of a job, and returns when all have ended and
// nothing of the job is left. The program needs to know nothing of symwin. While
// it runs, signals to this process are forwarded to the ranks (see supervise);
// cancelling ctx ends the job. Several jobs may run at once.
//
// What Run has to tell stands in the result and was written to o.Stderr; bad
// options and a program that cannot be started are results like any other.
func Run(ctx context.Context, o Options, argv []string) Result {
	j := &job{Options: o, argv: argv}
	return j.run(ctx)
}

// job is one run.
type job struct {
	Options
	argv []string

	host     *symmem.Host
	guardian guardian.Guardian
	outputs  outputs
	stdout   stream
	stderr   stream
	input    *stdin // nil: rank 0 reads /dev/null too
	ranks    []process
}

func (j *job) run(ctx context.Context) Result {
	options, err := j.Options.complete()
	if err != nil {
		return j.failed(exitUsage, err)
	}
	j.Options = options
	geometry, err := j.geometry()
	if err != nil {
		return j.failed(exitUsage, err)
	}
	if err := j.checkSettings(); err != nil {
		return j.failed(exitUsage, err)
	}
	if len(j.argv) == 0 {
		return j.failed(exitUsage, errors.New("no program to run"))
	}
	program, code, err := find(j.argv[0])
	if err != nil {
		return j.failed(code, err)
	}
	plan, err := j.plan()
	if err != nil {
		return j.failed(1, err)
	}
	j.report(plan)

	// Signals are caught before anything exists that they could leave behind.
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, caught()...)
	defer signal.Stop(signals)

	if j.outputs.null, err = unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return j.failed(1, fmt.Errorf("%s, which all ranks but one read: %w; as root mknod -m 666 %[1]s c 1 3, or mount a /dev", os.DevNull, err))
	}
	defer unix.Close(j.outputs.null)
	defer func() { _ = j.outputs.finish() }()
	if err := j.arrange(); err != nil {
		return j.failed(exitUsage, err)
	}

	// The guardian comes before the region, which it takes away if need be.
	name := jobName()
	if j.guardian, err = guardian.Start(name, j.outputs.null); err != nil {
		return j.failed(1, err)
	}
	defer j.guardian.Dismiss()
	// What jobs left that were killed at one stroke, launcher and all, goes now.
	// That some of it cannot be removed is for "shmrun clean" to tell.
	if swept, _ := symmem.Sweep(); len(swept) > 0 && j.Verbose {
		j.say("removed what was left of %s", strings.Join(swept, ", "))
	}
	if j.host, err = symmem.NewHost(name, geometry); err != nil {
		code := 1
		if errors.Is(err, symmem.ErrUsage) {
			code = exitUsage
		}
		return j.failed(code, err)
	}
	defer func() {
		if err := j.host.Close(); err != nil {
			j.say("%v", err)
		}
	}()
	if j.Verbose {
		g := j.host.Geometry()
		j.say("job %s: %s of %s, window %s in %v", name, Count(j.N), program, env.FormatSize(g.Window), g.Backing)
	}
	j.warnOfRoom()

	t := &thread{program: program, argv: j.argv, n: j.N, started: make(chan startReport, 1), ended: make(chan ended, j.N)}
	if t.next, err = j.recruits(plan); err != nil {
		return j.failed(1, err)
	}
	if j.input != nil {
		defer j.input.finish()
	}
	go t.run(j.guardian.Watch)
	started := <-t.started
	j.ranks = started.ranks
	j.outputs.started()
	if j.input != nil {
		j.input.started()
	}
	return j.supervise(ctx, t.ended, signals, started.err)
}

// arrange decides where the ranks' output goes.
func (j *job) arrange() (err error) {
	j.outputs.say = j.say
	t := tags{rank: j.TagOutput, time: j.TimestampOutput, from: time.Now()}
	if j.OutputDir == "" {
		if j.stdout, err = j.outputs.to(j.Stdout, t); err == nil {
			j.stderr, err = j.outputs.to(j.Stderr, t)
		}
		return err
	}
	if err = os.MkdirAll(j.OutputDir, 0o777); err == nil {
		if j.stdout, err = j.outputs.toFiles(j.OutputDir, "out", j.N, t); err == nil {
			j.stderr, err = j.outputs.toFiles(j.OutputDir, "err", j.N, t)
		}
	}
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("--output-dir %s: %w", j.OutputDir, err)
	case err != nil:
		return fmt.Errorf("--output-dir %s: %w; nothing was started, give a directory that you may write to", j.OutputDir, err)
	}
	return nil
}

// recruits prepares what the ranks are given.
func (j *job) recruits(plan topo.Plan) (func(rank int) (recruit, error), error) {
	if j.Stdin != nil {
		var err error
		if j.input, err = newStdin(j.Stdin); err != nil {
			return nil, err
		}
	}
	common := j.environ(j.host.Env(0))
	return func(rank int) (r recruit, err error) {
		r.files[0] = uintptr(j.outputs.null)
		if rank == 0 && j.input != nil {
			r.files[0] = uintptr(j.input.read)
		}
		if r.files[1], err = j.stdout(rank); err != nil {
			return r, err
		}
		if r.files[2], err = j.stderr(rank); err != nil {
			return r, err
		}
		r.env = append(common[:len(common):len(common)], j.host.Env(rank)...)
		if plan != nil {
			r.cpus = plan[rank]
		}
		return r, nil
	}, nil
}

// caught lists the signals that a job lives through: those it forwards, and
// SIGPIPE, which would end the launcher where a write error ends one stream. What
// the launcher's parent had switched off (nohup, a shell's background) stays off,
// for the ranks too.
func caught() []os.Signal {
	var list []os.Signal
	for _, s := range []syscall.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGPIPE,
	} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}

// jobName is a name that no other job of this user has at this time: the number
// of a living process, and which of its jobs it is.
func jobName() string {
	return fmt.Sprintf("%d-%06x", os.Getpid(), rand.Uint32()&0xff_ffff)
}

// find looks a program up as a shell does.
func find(name string) (path string, code int, err error) {
	path, err = exec.LookPath(name)
	switch {
	case err == nil:
		return path, 0, nil
	case errors.Is(err, exec.ErrDot):
		return "", exitNotFound, fmt.Errorf("%s: found only in the current directory; write ./%s", name, name)
	case !strings.Contains(name, "/"):
		return "", exitNotFound, fmt.Errorf("%s: no such program in $PATH", name)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", exitNotFound, fmt.Errorf("%s: no such file", name)
	case errors.Is(err, fs.ErrPermission):
		return "", exitNotExecutable, fmt.Errorf("%s: not executable; see chmod +x", name)
	}
	return "", exitNotExecutable, err // "exec: NAME: is a directory"
}

// report tells the binding, if asked.
func (j *job) report(plan topo.Plan) {
	if !j.ReportBindings {
		return
	}
	if plan == nil {
		j.say("%s, not bound", Count(j.N))
	}
	for rank, cpus := range plan {
		j.say("rank %d: CPUs %s", rank, topo.FormatList(cpus))
	}
}

// say writes one line for people.
func (j *job) say(format string, args ...any) {
	if j.Stderr == nil {
		return
	}
	j.outputs.mu.Lock()
	defer j.outputs.mu.Unlock()
	fmt.Fprintf(j.Stderr, "shmrun: "+format+"\n", args...)
}

// told is an error as people are told: without its class, and with a way out of
// what may be met anywhere.
func told(err error) string {
	text := plain(err)
	switch {
	case errors.Is(err, syscall.EMFILE):
		text += "; see ulimit -n: a job needs some 20, and up to five for each rank"
	case errors.Is(err, syscall.ENFILE):
		text += "; the machine has no more: see sysctl fs.file-max"
	}
	return text
}

// failed is the result of a job of which no rank was started.
func (j *job) failed(code int, err error) Result {
	text := told(err)
	j.say("%s", text)
	return Result{ExitCode: code, Verdict: text, Rank: -1}
}
