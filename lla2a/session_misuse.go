package lla2a

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/symwin/symwin/symmem"
)

// once reports a slot that was sent in this epoch already. The receiver may have
// taken the first element or may find the second one half stored; which, nobody
// can say. It is looked for under symwindebug.
func (s *Session[T]) once(to, j int) error {
	if s.sent[to*s.perPeer+j] <= uint64(s.index) {
		return nil
	}
	return fmt.Errorf("%w: rank %d sends slot %d to rank %d twice in epoch %d; an EndEpoch is missing before, or the slot should be another",
		symmem.ErrUsage, s.team.Rank(), j, to, s.index)
}

// note remembers for once that a slot was sent.
func (s *Session[T]) note(to, j int) { s.sent[to*s.perPeer+j] = uint64(s.index) + 1 }

// never is the Condition that elements have come, or never will: a member that
// has ended the epoch sends nothing more in it. It is waited for under
// symwindebug, since it reads the headers of those it waits for.
type never struct {
	*incoming
	peers []peer
	index uint64
	whose int // the member that has not sent and will not; -1: none
}

// Look implements shmsync.Condition. The count of ended epochs is loaded before
// the lines: whatever its owner had sent by then is there.
func (c *never) Look() bool {
	if c.incoming.Look() {
		return true
	}
	for k := c.have; k < c.n; k++ {
		if atomic.LoadUint64(c.peers[c.from+k].block.ended()) > c.index && !c.has(k) {
			c.whose = c.from + k
			return true
		}
	}
	return false
}

// awaitOrNever waits until slot j of n members has come, or one of them has ended
// the epoch without sending it.
func (s *Session[T]) awaitOrNever(ctx context.Context, j int) error {
	c := &s.never
	*c = never{incoming: &s.in, peers: s.peers, index: uint64(s.index), whose: -1}
	if err := s.wait(ctx, symmem.OpRecv, c); err != nil {
		return err
	}
	if c.whose < 0 {
		return nil
	}
	return fmt.Errorf("%w: rank %d waits in epoch %d for slot %d of rank %d, which has ended that epoch without sending it; it has called EndEpoch once too often, or Send too rarely",
		symmem.ErrUsage, s.team.Rank(), s.index, j, c.whose)
}

// sameEpochs reports, under symwindebug, members that have not ended as many
// epochs as the others. It is collective.
func (s *Session[T]) sameEpochs(ctx context.Context) error {
	if !debug {
		return nil
	}
	if err := s.team.Barrier(ctx); err != nil {
		return err
	}
	ended := make([]uint64, len(s.peers))
	for r, p := range s.peers {
		ended[r] = atomic.LoadUint64(p.block.ended())
	}
	most := slices.Max(ended)
	for r, n := range ended {
		if n != most {
			return fmt.Errorf("%w: rank %d has ended %d epochs of this session and rank %d has ended %d; every member ends every epoch",
				symmem.ErrUsage, r, n, slices.Index(ended, most), most)
		}
	}
	return nil
}
