package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symwin/symwin/internal/topo"
)

// mpi is one implementation of MPI.
type mpi struct {
	name, title, packages string

	mpirun, mpicc string
	number        *regexp.Regexp // the version, in what mpirun --version says
	// arguments are mpirun's before the program.
	arguments func(j Job) []string
	// environment keeps its files in the tree's directories.
	environment func(t *tree) []string
}

// Both are told to bind nothing: our program binds itself before MPI_Init, to
// any CPUs of any plan, which neither's options can express for all machines, and
// checks it afterwards. MPI finds itself as bound as by --bind-to.
var openMPI = &mpi{
	name: "openmpi", title: "Open MPI", packages: "openmpi-bin libopenmpi-dev",
	mpirun: "mpirun.openmpi", mpicc: "mpicc.openmpi",
	number: regexp.MustCompile(`(?m)^mpirun.* (\d+\.\d[\w.]*)$`),
	arguments: func(j Job) []string {
		var a []string
		if os.Geteuid() == 0 {
			a = append(a, "--allow-run-as-root")
		}
		// Open MPI counts cores, symwin counts CPUs. That there are more ranks than
		// cores must not make them yield, nor be refused.
		yield := "0"
		if j.crowded() {
			yield = "1"
		}
		return append(a, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", yield)
	},
	environment: func(t *tree) []string {
		return []string{
			"OMPI_MCA_orte_tmpdir_base=" + t.temp,
			"OMPI_MCA_btl_vader_backing_directory=" + t.memory,
			"OMPI_MCA_osc_sm_backing_directory=" + t.memory,
		}
	},
}

var mpich = &mpi{
	name: "mpich", title: "MPICH", packages: "mpich libmpich-dev",
	mpirun: "mpirun.mpich", mpicc: "mpicc.mpich",
	number:    regexp.MustCompile(`(?m)^\s*Version:\s*(\S+)`),
	arguments: func(Job) []string { return []string{"-bind-to", "none"} },
	environment: func(t *tree) []string {
		return []string{"UCX_POSIX_DIR=" + t.memory}
	},
}

func (m *mpi) installed(compiler bool) bool {
	_, err := exec.LookPath(m.mpirun)
	if err == nil && compiler {
		_, err = exec.LookPath(m.mpicc)
	}
	return err == nil
}

// openMPIPeer starts the program of an implementation; shared: with the operations
// over a shared window.
func openMPIPeer(ctx context.Context, name string, m *mpi, j Job, shared bool) (Peer, error) {
	times, exists := memoryOf(j)
	if !exists {
		return nil, cannot("no operation %q", j.Op)
	}
	windows := int64(0)
	if j.Op == "put" {
		windows = 1
	}
	if shared {
		if !slices.Contains([]string{"alltoall", "allgather", "broadcast", "allreduce", "latency", "put", "barrier"}, j.Op) {
			return nil, cannot("no %s over a shared window", j.Op)
		}
		if j.InPlace {
			return nil, cannot("nothing is in place with a shared window")
		}
		windows = 2 * times // two halves, in each of which what is received has room
		times += windows
	}
	if err := j.fits(times, windows); err != nil {
		return nil, err
	}
	if !m.installed(true) {
		return nil, &MissingError{Peer: name, Package: m.packages}
	}
	p := &mpiPeer{name: name, mpi: m, job: j, shared: shared}
	// A start may hang, Open MPI's did here in 3 of 7; so there is a second.
	err := p.open(ctx)
	if errors.Is(err, errSilent) {
		err = p.open(ctx)
	}
	if err != nil {
		return nil, p.failed(err)
	}
	return p, nil
}

// mpiPeer is a running program of ours.
type mpiPeer struct {
	name   string
	mpi    *mpi
	job    Job
	shared bool

	version string
	argv    []string
	tree    *tree
	talk    *talk
	broken  error // why it can be measured no more
}

// startTimeout bounds a start; one takes up to a second. Tests give it longer.
var startTimeout = 20 * time.Second

func (p *mpiPeer) open(ctx context.Context) (err error) {
	if p.tree, err = newTree(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.tree.fell())
		}
	}()
	if p.version, err = p.mpi.versionOf(ctx, p.tree); err != nil {
		return err
	}
	program, err := p.tree.build(ctx, p.mpi, p.version)
	if err != nil {
		return err
	}
	p.argv = append([]string{p.mpi.mpirun}, p.mpi.arguments(p.job)...)
	p.argv = append(p.argv, "-n", strconv.Itoa(p.job.Ranks), program)
	p.argv = append(p.argv, p.arguments()...)
	if p.talk, err = p.tree.converse(p.argv, p.mpi.environment(p.tree)); err != nil {
		return err
	}
	answer, err := p.talk.hear(ctx, min(startTimeout, p.job.Timeout), isWord("ready", "cannot", "failed"))
	if err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	if why, no := strings.CutPrefix(answer, "cannot "); no {
		return cannot("%s", why)
	}
	if why, bad := strings.CutPrefix(answer, "failed "); bad {
		return errors.New(why)
	}
	return p.tree.stop()
}

// fault is a test's hand in the data: the rank that damages one byte; -1: none.
var fault = -1

// arguments are the program's.
func (p *mpiPeer) arguments() []string {
	j := p.job
	a := []string{"op=" + j.Op, "ranks=" + strconv.Itoa(j.Ranks), "max=" + strconv.FormatInt(j.MaxBytes, 10), "touch=" + j.Touch, "warmup=" + strconv.Itoa(j.Warmup)}
	if list := j.cpuLists(); list != "" {
		a = append(a, "cpus="+list)
	}
	for name, set := range map[string]bool{"check": j.Check, "inplace": j.InPlace, "skew": j.Skew, "shared": p.shared, "yield": j.crowded()} {
		if set {
			a = append(a, name+"=1")
		}
	}
	slices.Sort(a[1:])
	if fault >= 0 {
		a = append(a, "fault="+strconv.Itoa(fault))
	}
	return a
}

// cpuLists are the CPUs of each rank, such as 0-1:2-3; one list where all have the
// same.
func (j Job) cpuLists() string {
	if j.Plan == nil {
		return topo.FormatList(j.CPUs)
	}
	var lists []string
	for _, cpus := range j.Plan {
		lists = append(lists, topo.FormatList(cpus))
	}
	return strings.Join(lists, ":")
}

func isWord(words ...string) func(string) bool {
	return func(line string) bool {
		first, _, _ := strings.Cut(line, " ")
		return slices.Contains(words, first)
	}
}

// Measure implements Peer.
func (p *mpiPeer) Measure(ctx context.Context, point Point) (Slice, error) {
	if p.broken != nil {
		return Slice{}, p.broken
	}
	if point.Bytes > p.job.MaxBytes {
		return Slice{}, cannot("%d bytes were not announced", point.Bytes)
	}
	slice, err := p.measure(ctx, point)
	if errors.Is(err, ErrCannot) {
		return Slice{}, err
	}
	if err != nil {
		p.broken = p.failed(errors.Join(err, p.tree.fell()))
		return Slice{}, p.broken
	}
	return slice, nil
}

func (p *mpiPeer) measure(ctx context.Context, point Point) (Slice, error) {
	p.tree.resume()
	err := p.talk.say("measure %d %d %d %d", point.Bytes, point.Shortest.Nanoseconds(), point.Budget.Nanoseconds(), point.Iters)
	// If it cannot be told any more, it tells why it ended.
	answer, heard := p.talk.hear(ctx, p.job.timeout(point), isWord("slice", "cannot"))
	if heard != nil {
		return Slice{}, heard
	}
	if err != nil {
		return Slice{}, err
	}
	if err := p.tree.stop(); err != nil {
		return Slice{}, err
	}
	if why, no := strings.CutPrefix(answer, "cannot "); no {
		return Slice{}, cannot("%s", why)
	}
	return parseSlice(answer)
}

// parseSlice reads "slice OPS WRONG N NS…".
func parseSlice(answer string) (s Slice, err error) {
	var numbers []int
	for _, field := range strings.Fields(answer)[1:] {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 {
			return s, fmt.Errorf("it said %.100q", answer)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) < 4 || numbers[0] == 0 || numbers[2] != len(numbers)-3 {
		return s, fmt.Errorf("it said %.100q", answer)
	}
	s.Ops, s.Wrong = numbers[0], numbers[1]
	for _, ns := range numbers[3:] {
		s.Blocks = append(s.Blocks, time.Duration(ns))
	}
	return s, nil
}

// failed makes the error of a peer that cannot go on.
func (p *mpiPeer) failed(err error) error { return failed(p.name, err) }

func failed(name string, err error) error {
	if errors.Is(err, ErrCannot) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var missing *MissingError
	if errors.As(err, &missing) {
		return err
	}
	return &FailedError{Peer: name, What: strings.ReplaceAll(err.Error(), "\n", "; ")}
}

func (p *mpiPeer) Name() string { return p.name }

func (p *mpiPeer) Version() string {
	if p.shared {
		return p.version + ", MPI_Win_allocate_shared"
	}
	return p.version
}

func (p *mpiPeer) Command() string { return strings.Join(p.argv, " ") }

// Close implements Peer. The program is asked to end first: what MPI has in
// shared memory goes with it.
func (p *mpiPeer) Close() error {
	if p.broken == nil {
		p.broken = &FailedError{Peer: p.name, What: "closed"}
		p.tree.resume()
		p.talk.stdin.Close()
		select {
		case <-p.talk.ended:
		case <-time.After(2 * time.Second):
		}
	}
	return p.tree.fell()
}

// versionOf asks the launcher.
func (m *mpi) versionOf(ctx context.Context, t *tree) (string, error) {
	text, err := t.output(ctx, versionTimeout, []string{m.mpirun, "--version"})
	if err != nil {
		return "", err
	}
	found := m.number.FindStringSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s --version said %.100q", m.mpirun, text)
	}
	return m.title + " " + found[1], nil
}
