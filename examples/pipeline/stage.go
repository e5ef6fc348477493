package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/ce"
)

// A stage is one rank of the pipeline. In step t stage r computes the block number
// t-2r, and the one that it computed in step t-1 travels to stage r+1, which
// computes it in step t+1. Buffers are two of each kind, by the parity of the step:
//
//	in step t   computed from in[t&1] to out[t&1]
//	            travels out[(t-1)&1] to in[(t-1)&1] of stage r+1
//
// Nothing is written that is still being read: a batch copies only when all ranks
// have started theirs of the same step, and stage r+1 starts that of step t+1 when
// it has computed from in[t&1], where that batch writes.
type stage struct {
	grid
	team   *symwin.Team
	window *symwin.Window[point] // both of in
	in     [2][]point
	out    [2][]point
	stream *ce.Stream
	batch  ce.Batch

	done   func(k int, points []point) // is shown what the last stage computes
	points int64                       // of those, the ones that have not escaped
}

func newStage(ctx context.Context, w *symwin.World, g grid) (*stage, error) {
	g.shuffle()
	s := &stage{grid: g, team: w.Team(), done: func(int, []point) {}}
	most := g.block()
	var err error
	if s.window, err = symwin.Alloc[point](ctx, w, 2*most); err != nil {
		return nil, err
	}
	if s.stream, err = ce.Open(ctx, s.team, ce.Options{}); err != nil {
		return nil, err
	}
	for i := range 2 {
		s.in[i], s.out[i] = s.window.Local()[i*most:][:most], make([]point, most)
	}
	return s, nil
}

// all computes all blocks. Stages that have no block in a step take part in its
// exchange all the same.
func (s *stage) all(ctx context.Context, overlap bool) error {
	s.points = 0
	for t := range s.blocks() + 2*(s.team.Size()-1) {
		if err := s.step(ctx, t, overlap); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) step(ctx context.Context, t int, overlap bool) error {
	s.pack(t - 1)
	if !overlap {
		if err := s.stream.Run(ctx, &s.batch); err != nil {
			return err
		}
		s.compute(t)
		return nil
	}
	moving := s.stream.Start(&s.batch)
	s.compute(t)
	return moving.Wait(ctx)
}

// at is the block of this stage in step t, if it has one.
func (s *stage) at(t int) (k int, ok bool) {
	k = t - 2*s.team.Rank()
	return k, k >= 0 && k < s.blocks()
}

// pack makes the batch that sends on what was computed in step t.
func (s *stage) pack(t int) {
	s.batch.Reset()
	next := s.team.Rank() + 1
	if _, ok := s.at(t); ok && next < s.team.Size() {
		ce.Put(&s.batch, next, s.window.At(t&1*s.block(), s.block()), s.out[t&1])
	}
}

func (s *stage) compute(t int) {
	k, ok := s.at(t)
	if !ok {
		return
	}
	in, out := s.in[t&1], s.out[t&1]
	if s.team.Rank() == 0 {
		clear(in) // all orbits begin at 0
	}
	s.follow(out, in, k)
	if s.team.Rank() == s.team.Size()-1 {
		for _, p := range out {
			if inside(p.z) {
				s.points++
			}
		}
		s.done(k, out)
	}
}

// A Result is the area, and what each way of computing it took.
type Result struct {
	grid
	Stages           int
	Area             float64
	Without, Overlap time.Duration
}

func (r Result) String() string {
	return fmt.Sprintf(`area %.6f: %d × %d points, %d stages of %d steps, %d blocks
exchange, then compute    %.3f s
exchange while computing  %.3f s, %.2f × as fast
`, r.Area, r.side, r.side, r.Stages, r.steps, r.blocks(), r.Without.Seconds(), r.Overlap.Seconds(), float64(r.Without)/float64(r.Overlap))
}

// compare runs the pipeline both ways, in turns. Times are the shortest of the
// slowest rank.
func (s *stage) compare(ctx context.Context, reps int) (Result, error) {
	res := Result{grid: s.grid, Stages: s.team.Size(), Without: math.MaxInt64, Overlap: math.MaxInt64}
	for range reps {
		for _, way := range []struct {
			overlap bool
			best    *time.Duration
		}{{false, &res.Without}, {true, &res.Overlap}} {
			if err := symwin.Barrier(ctx, s.team); err != nil {
				return res, err
			}
			begin := time.Now()
			if err := s.all(ctx, way.overlap); err != nil {
				return res, err
			}
			took := []time.Duration{time.Since(begin)}
			if err := symwin.AllReduce(ctx, s.team, took, took, symwin.Max); err != nil {
				return res, err
			}
			*way.best = min(*way.best, took[0])
		}
	}
	points := []int64{s.points}
	err := symwin.Broadcast(ctx, s.team, points, s.team.Size()-1)
	res.Area = s.area(points[0])
	return res, err
}
