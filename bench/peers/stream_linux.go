package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symwin/symwin/internal/topo"
	"golang.org/x/sys/unix"
)

// RankCommand is the hidden first argument with which the peers "unix" and "pipe"
// start this program again, as each of their ranks; what follows is RankMain's.
const RankCommand = "bench-peer"

// streams are the peers "unix" and "pipe": what Go programs on one host usually
// talk through. Their ranks are this very program, every two of them connected by
// a socket pair or by two pipes, with plain blocking reads and writes.
type streams struct {
	name   string
	job    Job
	tree   *tree
	ranks  []*talk
	pace   pace
	turn   uint64
	broken error
}

func openStreams(ctx context.Context, name string, j Job) (Peer, error) {
	switch {
	case !slices.Contains([]string{"latency", "bw", "alltoall"}, j.Op):
		return nil, cannot("no %s over a %s", j.Op, name)
	case j.InPlace:
		return nil, cannot("nothing is in place over a %s", name)
	}
	times, _ := memoryOf(j)
	if err := j.fits(times, 0); err != nil {
		return nil, err
	}
	tree, err := newTree()
	if err != nil {
		return nil, err
	}
	p := &streams{name: name, job: j, tree: tree, pace: pace{warmup: j.Warmup}}
	if err = p.open(ctx); err != nil {
		return nil, failed(name, errors.Join(err, tree.fell()))
	}
	return p, nil
}

// open connects and starts the ranks.
func (p *streams) open(ctx context.Context) error {
	n := p.job.Ranks
	// ends[r] are the descriptors that rank r is given, for each other rank one to
	// read and one to write, in the order of the ranks.
	ends := make([][]*os.File, n)
	defer func() {
		for _, files := range ends {
			for _, f := range files {
				f.Close()
			}
		}
	}()
	for a := range n {
		for b := range a {
			first, second, err := connect(p.name)
			if err != nil {
				return err
			}
			ends[a], ends[b] = append(ends[a], first...), append(ends[b], second...)
		}
	}
	for rank := range n {
		argv := append([]string{"/proc/self/exe"}, p.arguments(rank)...)
		var own *process
		err := p.on(rank, func() (err error) {
			own, err = p.tree.start(argv, nil, true, ends[rank]...)
			return err
		})
		if err != nil {
			return err
		}
		p.ranks = append(p.ranks, listen(own))
	}
	for rank, r := range p.ranks {
		if _, err := r.hear(ctx, min(startTimeout, p.job.Timeout), isWord("ready")); err != nil {
			return fmt.Errorf("starting rank %d: %w", rank, err)
		}
	}
	return p.tree.stop()
}

// connect is what is between two ranks: what each of them reads and writes.
func connect(kind string) (first, second []*os.File, err error) {
	file := func(fd int) *os.File { return os.NewFile(uintptr(fd), kind) }
	var a, b [2]int
	if kind == "unix" {
		if a, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return nil, nil, err
		}
		return []*os.File{file(a[0])}, []*os.File{file(a[1])}, nil
	}
	if err = unix.Pipe2(a[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	if err = unix.Pipe2(b[:], unix.O_CLOEXEC); err != nil {
		unix.Close(a[0])
		unix.Close(a[1])
		return nil, nil, err
	}
	return []*os.File{file(a[0]), file(b[1])}, []*os.File{file(b[0]), file(a[1])}, nil
}

// arguments are a rank's.
func (p *streams) arguments(rank int) []string {
	check := "off"
	if p.job.Check {
		check = "on"
	}
	cpus := "any"
	if p.job.Plan != nil {
		cpus = topo.FormatList(p.job.Plan[rank])
	}
	return []string{RankCommand, p.name, p.job.Op, strconv.Itoa(rank), strconv.Itoa(p.job.Ranks), p.job.Touch, check, cpus, strconv.Itoa(fault)}
}

// on runs f on a thread that has a rank's CPUs: what it starts inherits them.
func (p *streams) on(rank int, f func() error) error {
	cpus := p.job.CPUs
	if p.job.Plan != nil {
		cpus = p.job.Plan[rank]
	}
	if len(cpus) == 0 {
		return f()
	}
	runtime.LockOSThread()
	home, err := topo.Usable()
	if err == nil {
		err = topo.Bind(cpus)
	}
	if err == nil {
		err = f()
	}
	// A thread that does not get its CPUs back stays locked and ends with its
	// goroutine.
	if back := topo.Bind(home); back != nil {
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}

// Measure implements Peer.
func (p *streams) Measure(ctx context.Context, point Point) (Slice, error) {
	switch {
	case p.broken != nil:
		return Slice{}, p.broken
	case point.Bytes > p.job.MaxBytes:
		return Slice{}, cannot("%d bytes were not announced", point.Bytes)
	case point.Bytes == 0:
		return Slice{}, cannot("a stream has no empty messages")
	}
	p.tree.resume()
	limit := p.job.timeout(point)
	deadline := time.Now().Add(limit)
	verified := point.Bytes
	if p.job.Op == "alltoall" {
		verified *= int64(p.job.Ranks)
	}
	s, err := p.pace.measure(point, verified, func(blocks, ops int) ([]time.Duration, int, error) {
		return p.run(ctx, time.Until(deadline), point.Bytes, blocks, ops)
	})
	if err == nil {
		err = p.tree.stop()
	}
	if errors.Is(err, errSilent) {
		err = fmt.Errorf("%w, of %v for all of it", err, limit)
	}
	if err != nil {
		p.broken = failed(p.name, errors.Join(err, p.tree.fell()))
		return Slice{}, p.broken
	}
	s.Ops *= map[string]int{"latency": 2, "bw": inFlight, "alltoall": 1}[p.job.Op]
	return s, nil
}

// run has all ranks do blocks of operations on new data.
func (p *streams) run(ctx context.Context, timeout time.Duration, bytes int64, blocks, ops int) (slowest []time.Duration, wrong int, err error) {
	p.turn++
	for _, r := range p.ranks {
		if err := r.say("run %d %d %d %d", bytes, blocks, ops, p.turn); err != nil {
			return nil, 0, err
		}
	}
	slowest = make([]time.Duration, blocks)
	for rank, r := range p.ranks {
		answer, err := r.hear(ctx, timeout, isWord("ran"))
		if err != nil {
			return nil, 0, fmt.Errorf("rank %d: %w", rank, err)
		}
		fields := strings.Fields(answer)[1:]
		if len(fields) != 1+blocks {
			return nil, 0, fmt.Errorf("rank %d said %.100q", rank, answer)
		}
		for k, field := range fields {
			n, err := strconv.Atoi(field)
			if err != nil {
				return nil, 0, fmt.Errorf("rank %d said %.100q", rank, answer)
			}
			if k == 0 {
				wrong += n
			} else {
				slowest[k-1] = max(slowest[k-1], time.Duration(n))
			}
		}
	}
	return slowest, wrong, nil
}

func (p *streams) Name() string    { return p.name }
func (p *streams) Version() string { return runtime.Version() }

func (p *streams) Command() string {
	return fmt.Sprintf("%s %s (each of %d ranks)", os.Args[0], strings.Join(p.arguments(0), " "), p.job.Ranks)
}

// Close implements Peer.
func (p *streams) Close() error {
	if p.broken == nil {
		p.broken = &FailedError{Peer: p.name, What: "closed"}
	}
	return p.tree.fell()
}
