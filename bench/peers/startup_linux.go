package peers

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startups is the operation "startup": a block is one start of a launcher with
// "true" on all ranks, to its end. Ranks that end at once are not bound, which
// spares the launcher the work.
type startups struct {
	name, version string
	mpi           *mpi
	job           Job
	argv          []string
	tree          *tree
	broken        error
}

func openStartup(ctx context.Context, name string, m *mpi, j Job) (Peer, error) {
	if !m.installed(false) {
		return nil, &MissingError{Peer: name, Package: m.packages}
	}
	tree, err := newTree()
	if err != nil {
		return nil, err
	}
	p := &startups{name: name, mpi: m, job: j, tree: tree}
	p.argv = append(append([]string{m.mpirun}, m.arguments(j)...), "-n", strconv.Itoa(j.Ranks), "true")
	if p.version, err = m.versionOf(ctx, tree); err != nil {
		return nil, failed(name, errors.Join(err, tree.fell()))
	}
	return p, nil
}

// brokenPipes is how many starts may fail of a broken pipe, and one more for each eight
// that do not. MPICH's launcher does so now and then when its processes end before it
// has told them all: on a machine where more runs than it has CPUs, 8 times in 200.
const brokenPipes = 3

func brokenPipe(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGPIPE
}

// Measure implements Peer. It starts at least once.
func (p *startups) Measure(ctx context.Context, point Point) (s Slice, err error) {
	if p.broken != nil {
		return s, p.broken
	}
	s.Ops = 1
	limit := p.job.timeout(point)
	clock := time.NewTimer(limit)
	defer clock.Stop()
	for begin := time.Now(); len(s.Blocks) < max(point.Iters, 1) || point.Iters == 0 && time.Since(begin) < point.Budget; {
		at := time.Now()
		run, err := p.tree.start(p.argv, p.mpi.environment(p.tree), false)
		if err == nil {
			select {
			case <-run.ended:
				took := time.Since(at)
				if brokenPipe(run.err) && s.Dropped < len(s.Blocks)/8+brokenPipes {
					s.Dropped++
					continue
				}
				if s.Blocks = append(s.Blocks, took); run.err != nil {
					err = errors.New(run.how())
				}
			case <-clock.C:
				err = silent(limit)
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			p.broken = failed(p.name, errors.Join(err, p.tree.fell()))
			return Slice{}, p.broken
		}
	}
	return s, nil
}

func (p *startups) Name() string    { return p.name }
func (p *startups) Version() string { return p.version }
func (p *startups) Command() string { return strings.Join(p.argv, " ") }

// Close implements Peer.
func (p *startups) Close() error {
	if p.broken == nil {
		p.broken = &FailedError{Peer: p.name, What: "closed"}
	}
	return p.tree.fell()
}
