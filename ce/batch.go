package ce

import (
	"context"
	"fmt"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Batch is a list of copies into the members' windows, to be run together. It
// may be filled again after Reset; filling it is for one goroutine.
type Batch struct {
	puts []put
	err  error // the first bad argument: told by Run
}

type put struct {
	to  int
	at  window.Span
	src []byte
	dst []byte // at's memory there, while Run runs
}

// Put adds a copy of src to `to`'s window at dst. src stays untouched until the
// batch has run. A length of zero is legal. What is wrong with the arguments is
// said by Run, before it stores anything.
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
func (b *Batch) Reset() { b.puts, b.err = b.puts[:0], nil }

// Run runs the batch: it waits until every member is ready to be written to,
// copies, and returns when every member's batch is complete: then everything
// that was put into the own window is there. It is collective: every member runs
// a batch, perhaps an empty one.
func (s *Stream) Run(ctx context.Context, b *Batch) error {
	if b.err != nil {
		return b.err
	}
	if err := s.usable(); err != nil {
		return err
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
	lane := s.team.Lane()
	if err := lane.Enter(ctx, symmem.Record{Op: symmem.OpBatch, Engine: symmem.EngineCE}); err != nil {
		return err
	}
	s.sequence++
	me := s.team.Rank()
	for r := range s.edges {
		if r != me {
			postReady(s.edges[r].readyOut, s.sequence, readyLine{place: staged})
		}
	}
	lane.Publish()
	s.all.Expect(s.sequence)
	err := lane.Await(ctx, s.all)
	if err == nil {
		for i := range b.puts {
			p := &b.puts[i]
			window.Copy(p.dst, p.src)
		}
		for r := range s.edges {
			if e := &s.edges[r]; r != me {
				e.sent++
				line.StoreRelease64(e.completeOut, e.sent)
				e.received++
				line.StoreRelease64(e.creditOut, e.received)
			}
		}
		err = lane.Await(ctx, (*completes)(s))
	}
	return lane.Leave(err)
}
