package lla2a

import (
	"context"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
	shmsync "github.com/symwin/symwin/sync"
)

// EndEpoch ends the epoch: what was sent in it and not received is lost, and all
// slots may be sent again. Every member ends every epoch, also one with nothing
// to say. It waits for the others only every 2³²−2 epochs, when the tags begin a
// new lap; should that wait fail, the epoch goes on, and only EndEpoch may be
// called, again.
func (s *Session[T]) EndEpoch(ctx context.Context) error {
	if s.closed || s.team.Ended() {
		return s.refusal(symmem.OpEndEpoch, 0, 0)
	}
	next := s.index + 1
	// One writer, this rank. It is a release: the receives of this epoch are over
	// before a sender that reads the count overwrites them.
	line.StoreRelease64(s.mine.ended(), uint64(next))
	failpoint.Hit(failpoint.EpochEnded)
	if s.tag == lastTag {
		if err := s.beginLap(ctx); err != nil {
			return err
		}
	}
	s.peers[s.me].heard = uint64(next)
	if s.tag == lastTag {
		s.enter(next)
	} else { // the same, without a division
		s.index, s.tag, s.region = next, s.tag+1, s.regions-s.region
	}
	s.ring()
	return nil
}

// ring wakes whichever members sleep. Where ranks share CPUs they do, and a full
// barrier comes first. Where every rank has a CPU they hardly ever do, and a barrier
// would hold up the next Send (by 8 ns); so it is left to the next wait, and only a
// member that was just parking, and for whom nobody does anything more, sleeps its
// first millisecond out. As in symmem.Lane.
func (s *Session[T]) ring() {
	if s.unrung = !s.team.SharesCPUs(); s.unrung {
		s.team.NudgeAll()
	} else {
		s.team.RingAll()
	}
}

// newLap is the end of a lap of tags: two barriers of the session's own words,
// not the team's, since other sessions and collectives of the team may be under
// way.
type newLap struct {
	ended *shmsync.Flags // the others' counts of ended epochs
	laps  *shmsync.Flags // and of laps they have cleared their blocks for
}

func newLapOf(peers []peer, me int) newLap {
	ended, laps := make([]*uint64, len(peers)), make([]*uint64, len(peers))
	for r, p := range peers {
		if r != me {
			ended[r], laps[r] = p.block.ended(), p.block.laps()
		}
	}
	return newLap{ended: shmsync.NewFlags(ended, me+1), laps: shmsync.NewFlags(laps, me+1)}
}

// beginLap clears the tags of the lap that ends: when all have ended its last
// epoch, everybody clears the own block, and when all have done that the next
// lap begins.
func (s *Session[T]) beginLap(ctx context.Context) error {
	lap := uint64(s.index)/epoch.Lap + 1
	s.shut = true
	s.unrung = true
	if *s.mine.laps() < lap { // else an EndEpoch that failed has done it: peers may write here already
		s.lap.ended.Expect(uint64(s.index) + 1)
		if err := s.wait(ctx, symmem.OpEndEpoch, s.lap.ended); err != nil {
			return err
		}
		s.mine.forget()
		line.StoreRelease64(s.mine.laps(), lap)
	}
	s.team.RingAll()
	s.lap.laps.Expect(lap)
	if err := s.wait(ctx, symmem.OpEndEpoch, s.lap.laps); err != nil {
		return err
	}
	s.shut = false
	return nil
}
