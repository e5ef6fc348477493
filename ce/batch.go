package ce

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Batch is a list of copies into the members' windows, to be run together. It
// may be filled again after Reset; filling it is for one goroutine, while it is
// not running. It is not to be copied.
type Batch struct {
	puts []put
	err  error // the first bad argument: told by Run

	// For the stream that runs it.
	order   []int32 // puts by destination, in rotated order; the own ones first
	steps   []step
	after   []moment
	pending Pending
}

type put struct {
	to  int
	at  window.Span
	src []byte
	dst []byte // at's memory there
}

// step is what a rank copies of a batch before it waits for the others: entries
// of order up to end, and of the last one bytes up to cut.
type step struct {
	end int
	cut int
}

// Put adds a copy of src to `to`'s window at dst. src stays untouched until the
// batch has run. A length of zero is legal. Of two copies to one place either may
// be the one that stays. What is wrong with the arguments is said by Run or by
// Wait, before anything is stored.
func Put[T any](b *Batch, to int, dst window.Span, src []T) {
	if err := window.CheckType[T](); err != nil && b.err == nil {
		b.err = err
	}
	raw := window.Raw(src)
	switch {
	case b.err != nil:
	case dst.Err() != nil:
		b.err = dst.Err()
	case int64(len(raw)) != dst.Bytes():
		b.err = fmt.Errorf("%w: Put of %d bytes into a place of %d", symmem.ErrUsage, len(raw), dst.Bytes())
	default:
		b.puts = append(b.puts, put{to: to, at: dst, src: raw})
	}
}

// Len is the number of copies in the batch.
func (b *Batch) Len() int { return len(b.puts) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	clear(b.puts)
	b.puts, b.err = b.puts[:0], nil
}

// Run runs the batch: it waits until every member is ready to be written to,
// copies, and returns when every member's batch is complete: then everything
// that was put into the own window is there. It is collective: every member runs
// a batch, perhaps an empty one. It runs behind what was started before.
//
// Errors: bad arguments, a closed stream and a ctx that is done by then are
// local, and the call does not count. Whatever comes later revokes the team, a
// *PanicError too.
func (s *Stream) Run(ctx context.Context, b *Batch) error {
	if !b.pending.Done() {
		return fmt.Errorf("%w: this batch was started and has not ended", symmem.ErrUsage)
	}
	if err := s.check(b); err != nil {
		return err
	}
	if err := s.drain(ctx); err != nil {
		return err
	}
	return s.runBatch(ctx, b)
}

// check computes where everything goes and in which order.
func (s *Stream) check(b *Batch) error {
	if b.err != nil {
		return b.err
	}
	w := s.team.World()
	for i := range b.puts {
		p := &b.puts[i]
		if p.to < 0 || p.to >= len(s.edges) {
			return fmt.Errorf("%w: Put to rank %d of a team of %d", symmem.ErrUsage, p.to, len(s.edges))
		}
		dst, err := p.at.On(w, s.team.WorldRank(p.to))
		if err != nil {
			return err
		}
		p.dst = dst
	}
	b.arrange(s.team.Rank(), len(s.edges))
	b.cut(s.o.StepLarge, s.o.StepBytes)
	return nil
}

// arrange orders the puts by destination, beginning at the own rank, so that the
// members do not all write to the same one first.
func (b *Batch) arrange(me, n int) {
	if cap(b.order) < len(b.puts) {
		b.order = make([]int32, len(b.puts))
	}
	b.order = b.order[:len(b.puts)]
	var few [64]int32
	next := few[:]
	if n >= len(few) {
		next = make([]int32, n+1)
	}
	turn := func(to int) int {
		if to -= me; to < 0 {
			to += n
		}
		return to
	}
	for i := range b.puts {
		next[turn(b.puts[i].to)+1]++
	}
	for k := range n {
		next[k+1] += next[k]
	}
	for i := range b.puts {
		k := turn(b.puts[i].to)
		b.order[next[k]] = int32(i)
		next[k]++
	}
}

// largeCopy is from where on a copy counts as large.
const largeCopy = 1 << 20

// cut divides the batch into steps of at most so many large copies and so many
// bytes. There is at least one.
func (b *Batch) cut(most int, bytes int64) {
	b.steps = b.steps[:0]
	large, left := 0, bytes
	for k, i := range b.order {
		size, at := len(b.puts[i].src), 0
		if size >= largeCopy {
			if large++; large > most {
				b.steps = append(b.steps, step{end: k})
				large, left = 1, bytes
			}
		}
		for int64(size-at) > left {
			at += int(left)
			b.steps = append(b.steps, step{end: k, cut: at})
			large, left = 1, bytes
		}
		left -= int64(size - at)
	}
	b.steps = append(b.steps, step{end: len(b.order)})
}

var batchCall = symmem.Record{Op: symmem.OpBatch, Engine: symmem.EngineCE}

func (s *Stream) runBatch(ctx context.Context, b *Batch) error {
	if err := s.lane.Enter(ctx, &batchCall); err != nil {
		return err
	}
	return s.lane.Leave(s.put(ctx, b))
}

// put is a batch inside the lane.
func (s *Stream) put(ctx context.Context, b *Batch) (err error) {
	defer rescue(debug.SetPanicOnFault(true), &err)
	s.number(&batchCall)
	s.begin()
	s.copyAs(b.footprint())
	n, me := len(s.edges), s.team.Rank()
	mine := ready{source: nowhere, kind: kindOf(direct, false, uint64(len(b.steps)))}
	for k := 1; k < n; k++ {
		r := (me + k) % n
		e := &s.edges[r]
		e.src, e.dst, e.mine = nil, nil, mine
		e.begin()
		e.mine.post(e.readyOut, s.tag)
		s.open = append(s.open, r)
	}
	failpoint.Hit(failpoint.CopyReady)
	s.lane.Publish()
	if err := s.await(ctx, (*hearing)(s)); err != nil {
		return err
	}
	steps := mine.steps()
	for _, r := range s.open {
		steps = max(steps, s.edges[r].theirs.steps())
	}
	if steps > maxSteps {
		return fmt.Errorf("%w: a batch of %d steps", symmem.ErrRegion, steps)
	}
	from := step{}
	for k := range steps {
		if k < uint64(len(b.steps)) {
			s.copyStep(b, from, b.steps[k])
			from = b.steps[k]
		}
		for _, r := range s.open {
			e := &s.edges[r]
			e.coming = steps - k
			e.announce()
		}
		if err := s.await(ctx, (*stepped)(s)); err != nil {
			return err
		}
		for _, r := range s.open {
			s.edges[r].receivedOne()
		}
	}
	return nil
}

// maxSteps is more than any batch has.
const maxSteps = 1 << 40

func (b *Batch) footprint() (bytes int64) {
	for i := range b.puts {
		bytes += 2 * int64(len(b.puts[i].src))
	}
	return bytes
}

// each calls f for what lies between two cuts: the put and its bytes.
func (b *Batch) each(from, to step, f func(put int32, lo, hi int)) {
	for k := from.end; k < to.end || (k == to.end && to.cut > 0); k++ {
		i := b.order[k]
		lo, hi := 0, len(b.puts[i].src)
		if k == from.end {
			lo = from.cut
		}
		if k == to.end {
			hi = to.cut
		}
		f(i, lo, hi)
	}
}

// copyStep copies what lies between two cuts.
func (s *Stream) copyStep(b *Batch, from, to step) {
	s.crew.begin()
	b.each(from, to, func(i int32, lo, hi int) {
		p := &b.puts[i]
		s.crew.add(p.dst[lo:hi], p.src[lo:hi])
	})
	s.crew.run(s.alone)
}

// stepped is the Condition that every member has made this step.
type stepped Stream

// Look implements shmsync.Condition.
func (c *stepped) Look() bool {
	for _, r := range c.open {
		if c.edges[r].come() == 0 {
			return c.fatal != nil
		}
	}
	return true
}

// Missing implements shmsync.Condition.
func (c *stepped) Missing(into []int) []int {
	for _, r := range c.open {
		if e := &c.edges[r]; atomic.LoadUint64(e.completeIn) <= e.received {
			into = append(into, r)
		}
	}
	(*Stream)(c).late.note((*Stream)(c), into)
	return into
}
