package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/symwin/symwin/bench/peers"
)

// opener is [peers.Open], or a test's.
type opener func(ctx context.Context, name string, job peers.Job) (peers.Peer, error)

// rival is a peer as it does in this measurement. Between its slices its
// processes are stopped, or have ended.
type rival struct {
	name   string
	peer   peers.Peer // nil: it is out
	about  PeerMeta
	failed string // why there is nothing more to be had of it
	lied   bool   // it is that bytes arrived wrong
}

// peerTimeout bounds one slice of a peer, beside ten times what ours took.
const peerTimeout = 30 * time.Second

// openRivals opens the peers that were asked for. One that is not there, cannot
// do this or fails stays as what it is: the rest goes on without it.
func openRivals(ctx context.Context, j *job, open opener) (rivals []*rival) {
	job := peers.Job{
		Op: j.op.name, Ranks: j.Ranks, CPUs: j.CPUs, Plan: j.Plan, Touch: j.touch, InPlace: j.inPlace, Check: j.check,
		Warmup: j.warmup, Timeout: peerTimeout,
	}
	if j.op == allToAllvSkewed {
		job.Op, job.Skew = allToAllv.name, true
	}
	if len(j.sizes) > 0 {
		job.MaxBytes = slices.Max(j.sizes)
	}
	if w, err := j.op.way(j.engine); err == nil && j.op.own == nil {
		_, ours := j.op.memory(&j.config, w, j.task(job.MaxBytes))
		job.Beside = float64(ours)
	}
	for _, name := range j.peers {
		if ctx.Err() != nil {
			break
		}
		var err error
		r := &rival{name: name}
		if r.peer, err = open(ctx, name, job); err != nil {
			r.fail(err)
		} else {
			r.about = PeerMeta{Version: r.peer.Version(), Command: r.peer.Command()}
			job.Beside += job.Memory(name) // stopped, they keep what they have
		}
		rivals = append(rivals, r)
	}
	return rivals
}

func (r *rival) close() {
	if r.peer != nil {
		_ = r.peer.Close()
		r.peer = nil
	}
}

// fail notes why a peer is out.
func (r *rival) fail(err error) {
	switch {
	case errors.Is(err, peers.ErrCannot):
		r.about.Note, r.about.cannot = err.Error(), true
	case errors.As(err, new(*peers.MissingError)):
		r.about.Note, r.about.missing = err.Error(), true
	default:
		r.failed = err.Error()
		if r.about.Version == "" { // at once: the header says it
			r.about.Note = r.failed
		}
	}
	r.close()
}

// at is the rival at one size: a subject.
func (r *rival) at(bytes int64) subject { return rivalAt{r, bytes} }

type rivalAt struct {
	*rival
	bytes int64
}

// measure takes a slice, which is empty if the peer is out. Like ours, one of which
// the blocks are too short is measured again; the peer has calibrated anew by then.
func (r rivalAt) measure(ctx context.Context, p point) (got slice, err error) {
	for range maxAgain {
		if got, err = r.once(ctx, p); err != nil || len(got.Blocks) == 0 || got.typical() >= p.Shortest {
			break
		}
	}
	return got, err
}

func (r rivalAt) once(ctx context.Context, p point) (slice, error) {
	if r.peer == nil {
		return slice{}, nil
	}
	s, err := r.peer.Measure(ctx, peers.Point{Bytes: r.bytes, Shortest: p.Shortest, Budget: p.Budget, Iters: p.Iters, Expected: p.expected})
	switch {
	case ctx.Err() != nil:
		return slice{}, context.Cause(ctx)
	case errors.Is(err, peers.ErrCannot): // this size
		return slice{}, nil
	case err == nil && s.Wrong > 0:
		r.lied = true
		err = fmt.Errorf("%s: %d bytes arrived wrong", r.name, s.Wrong)
	case err == nil && (len(s.Blocks) == 0 || s.Ops < 1):
		err = fmt.Errorf("%s measured nothing", r.name)
	}
	if err != nil {
		r.fail(err)
		return slice{}, nil
	}
	return slice{Blocks: s.Blocks, Ops: s.Ops, dropped: s.Dropped}, nil
}

// figure is what row says about the rival: a ratio only where both were measured
// in one state.
func (r *rival) figure(row Row, slices []slice) PeerFigure {
	f := PeerFigure{P50: none(), Ratio: none(), Failed: r.failed, lied: r.lied}
	if r.failed != "" {
		return f
	}
	f.P50 = summarize(slices).P50
	if row.State != moved {
		f.Ratio = f.P50 / row.P50
	}
	for _, s := range slices {
		f.each = append(f.each, summarize([]slice{s}).P50)
		f.iters += len(s.Blocks) * s.Ops
		f.Dropped += s.dropped
	}
	return f
}
