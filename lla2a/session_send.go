package lla2a

import (
	"context"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
)

// Send sends v to member `to` in slot j of this epoch. It returns when v is
// stored: at once, unless the receiver is more than an epoch behind and its
// block still holds what it may want; then it waits for room, and may be
// repeated if that wait fails. Sending to oneself is legal.
func (s *Session[T]) Send(ctx context.Context, to, j int, v T) error {
	return s.SendFrom(ctx, to, j, &v)
}

// SendFrom is Send of *v: an element of many bytes is copied once, into its slot,
// and not before that onto the stack.
func (s *Session[T]) SendFrom(ctx context.Context, to, j int, v *T) error {
	if s.refused(to, j) || s.team.Ended() {
		return s.refusal(symmem.OpSend, to, j)
	}
	if debug {
		if err := s.once(to, j); err != nil {
			return err
		}
	}
	p := &s.peers[to]
	if !s.index.MayWrite(p.heard) {
		if err := s.makeRoom(ctx, to); err != nil {
			return err
		}
	}
	s.store(to, j, v)
	failpoint.Hit(failpoint.SendDone)
	p.bell.Ring()
	return nil
}

// Bcast sends v to every member, the own rank included, in slot j. It starts at
// the own rank, so that members do not all write to the same one first. If it has
// to wait for room and that fails, nothing was sent.
func (s *Session[T]) Bcast(ctx context.Context, j int, v T) error {
	if s.refused(0, j) || s.team.Ended() {
		return s.refusal(symmem.OpSend, 0, j)
	}
	for to := range s.peers {
		if debug {
			if err := s.once(to, j); err != nil {
				return err
			}
		}
		if !s.index.MayWrite(s.peers[to].heard) {
			if err := s.makeRoom(ctx, to); err != nil {
				return err
			}
		}
	}
	for to := s.team.Rank(); to < len(s.peers); to++ {
		s.store(to, j, &v)
	}
	for to := range s.team.Rank() {
		s.store(to, j, &v)
	}
	s.team.NudgeAll()
	return nil
}

// store writes v into slot j in `to`'s block. Who may be parking at this moment
// is rung behind the next full barrier: of EndEpoch, or of a wait.
func (s *Session[T]) store(to, j int, v *T) {
	b, l := s.peers[to].block, s.lineOf(s.me, j)
	carry(element[T](b, l), v)
	failpoint.Hit(failpoint.SendHalf)
	line.StoreRelease64(s.layout.tag(b, l), uint64(s.tag)) // blind
	s.unrung, s.last = true, sent{to, j, s.index}
	if debug {
		s.note(to, j)
	}
}

// makeRoom waits until member `to` has ended the epoch that used this region
// last.
func (s *Session[T]) makeRoom(ctx context.Context, to int) error {
	s.looks++
	s.room = roomFor{peer: to, header: s.peers[to].block.ended(), need: uint64(s.index) - 1}
	if err := s.wait(ctx, symmem.OpSend, &s.room); err != nil {
		return err
	}
	s.peers[to].heard = s.room.ended
	return nil
}

// roomFor is the Condition that a member has ended enough epochs.
type roomFor struct {
	peer   int
	header *uint64
	need   uint64
	ended  uint64 // as it was last seen
}

// Look implements shmsync.Condition. The acquire pairs with EndEpoch's release:
// what the member has read in the epochs it has ended, it has read.
func (r *roomFor) Look() bool {
	r.ended = atomic.LoadUint64(r.header)
	return r.ended >= r.need
}

// Missing implements shmsync.Condition.
func (r *roomFor) Missing(into []int) []int {
	if !r.Look() {
		into = append(into, r.peer)
	}
	return into
}
