package lla2a

import (
	"context"
	"fmt"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
)

// Recv receives what member `from` sends in slot j of this epoch, waiting for
// it. An error is local: the call may be repeated.
func (s *Session[T]) Recv(ctx context.Context, from, j int) (v T, err error) {
	err = s.RecvInto(ctx, from, j, &v)
	return v, err
}

// RecvInto is Recv into *v, which an error leaves as it was: an element of many
// bytes is copied once, out of its slot, and not on through the stack.
func (s *Session[T]) RecvInto(ctx context.Context, from, j int, v *T) error {
	if s.refused(from, j) {
		return s.refusal(symmem.OpRecv, from, j)
	}
	l := s.lineOf(from, j)
	come := s.layout.holds(s.mine, l, s.tag)
	// Looked at second: while the line is on its way that costs nothing.
	if s.team.Ended() {
		return s.refusal(symmem.OpRecv, from, j)
	}
	if !come {
		s.foresee()
		if s.perPeer > aStream && s.abreast.waits(from, j, s.index, s.last) {
			s.watch.StandBack(standing)
		}
		if !s.watch.Sees(s.layout.tag(s.mine, l), uint64(s.tag)) {
			if err := s.await(ctx, from, 1, j); err != nil {
				return err
			}
		}
	}
	s.hear(from)
	take(s.mine, l, v)
	return nil
}

// RecvAll receives slot j of every member, the own one included, into dst by
// rank. Every member must have sent it (Bcast does). An error is local: the call
// may be repeated, and what is in dst until then is not to be used.
func (s *Session[T]) RecvAll(ctx context.Context, j int, dst []T) error {
	if s.refused(0, j) || s.team.Ended() {
		return s.refusal(symmem.OpRecv, 0, j)
	}
	if len(dst) < len(s.peers) {
		return fmt.Errorf("%w: RecvAll into %d elements, the team has %d members", symmem.ErrUsage, len(dst), len(s.peers))
	}
	if err := s.await(ctx, 0, len(s.peers), j); err != nil {
		return err
	}
	for from := range s.peers {
		s.hear(from)
		take(s.mine, s.lineOf(from, j), &dst[from])
	}
	return nil
}

// RecvReduce receives slot j of every member, the own one included, and folds
// the elements into acc, in the order of ranks: for the same elements the result
// is the same on every rank, also where the order of additions matters. The
// accumulator may be of another type than the elements, float64 for float32,
// say. What is called at once, and errors, are as for RecvAll; fold is called
// only when all elements have come.
func RecvReduce[T, A any](ctx context.Context, s *Session[T], j int, acc A, fold func(acc A, v T) A) (A, error) {
	if s.refused(0, j) || s.team.Ended() {
		return acc, s.refusal(symmem.OpRecv, 0, j)
	}
	if err := s.await(ctx, 0, len(s.peers), j); err != nil {
		return acc, err
	}
	for from := range s.peers {
		s.hear(from)
		acc = fold(acc, *element[T](s.mine, s.lineOf(from, j)))
	}
	return acc, nil
}

// foresee begins to take, while this rank waits, the lines that it will store next
// if all goes on as it did: of the slot that was sent last, in the next epoch if it
// was sent in this one, else in this one. The element's last line is left alone:
// its receiver may be looking at it, and would have it back at once.
func (s *Session[T]) foresee() {
	bytes := min(16*(s.layout.lines-perCacheLine), foreseenElement)
	if bytes <= 0 {
		return
	}
	at := s.lineOf(s.me, s.last.j)
	if s.last.in == s.index {
		at += epoch.RegionStart(s.index+1, s.slots) - s.region
	}
	line.TakeLines(&s.peers[s.last.to].block[2*at], bytes)
}

// foreseenElement is how many bytes of an element foresee takes.
const foreseenElement = 4 << 10

// hear notes what a line of epoch i proves: its sender has ended i epochs. So who
// hears from everybody in every epoch never looks at a header.
func (s *Session[T]) hear(from int) {
	p := &s.peers[from]
	p.heard = max(p.heard, uint64(s.index))
}

// await waits until slot j of n members has come.
func (s *Session[T]) await(ctx context.Context, from, n, j int) error {
	s.in.expect(from, n, s.lineOf(from, j), s.tag)
	if debug {
		return s.awaitOrNever(ctx, j)
	}
	return s.wait(ctx, symmem.OpRecv, &s.in)
}

// incoming is the Condition that the elements of members in a row have come.
type incoming struct {
	block  block
	layout layout
	size   int // of an element, in bytes
	stride int // lines from one member's slot to the next member's

	from, n int // the members
	first   int // line of the first one's element
	tag     uint32
	have    int // elements, from the first on, that have come
}

func (in *incoming) expect(from, n, first int, tag uint32) {
	in.from, in.n, in.first, in.tag, in.have = from, n, first, tag, 0
}

// Look implements shmsync.Condition. It looks at all elements, whatever is
// missing before them: so the lines of all senders are on their way here at the
// same time, and none is left to be fetched when the last one has come.
func (in *incoming) Look() bool {
	all := true
	for k := in.have; k < in.n; k++ {
		if !in.has(k) {
			all = false
		} else if all {
			in.have = k + 1
		}
	}
	return all
}

func (in *incoming) has(k int) bool {
	return in.layout.holds(in.block, in.first+k*in.stride, in.tag)
}

// Missing implements shmsync.Condition.
func (in *incoming) Missing(into []int) []int {
	for k := in.have; k < in.n; k++ {
		if !in.has(k) {
			into = append(into, in.from+k)
		}
	}
	return into
}
