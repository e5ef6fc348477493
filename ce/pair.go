package ce

import (
	"context"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/symmem"
)

// pair is an exchange of two ranks with a CPU each that write to each other and have
// little to copy. There is one edge, so each wait is for one word, what an edge has to
// remember between two looks is in registers, and what the lines take on their way passes
// while the own part is copied. done says that this was all of it. Otherwise nothing was
// sent, and the exchange is to be made edge by edge; if it has its number then, the line is
// posted (invited) and so much of the own part copied as ownAt says.
//
// Zen 5, all-to-all, edge by edge and by this, µs: 8 KiB 0.222 and 0.195, 16 KiB 0.331 and
// 0.302, 32 KiB 0.675 and 0.65, 64 KiB 1.21 and 1.18.
func (s *Stream) pair(ctx context.Context, call *symmem.Record, part func(r int) (src, dst []byte)) (done bool, err error) {
	e := s.other
	src, dst := part(e.peer)
	ownSrc, ownDst := part(s.own.peer)
	sends, length, own := len(src), len(dst), len(ownSrc)
	lies := uint64(0)
	if length > 0 {
		lies = find(s.places, dst)
	}
	footprint := sends + length + 2*own
	if lies == nowhere || len(ownDst) != own || footprint > little || e.astray[shareable(sends, length)] {
		return false, nil
	}
	if sameStart(ownDst, ownSrc) {
		own = 0
	}
	s.number(call)
	s.copyAs(int64(footprint))
	mine, theirs := &e.mine, &e.theirs
	mine.want, mine.length, mine.source, mine.sends = lies, uint64(length), find(s.sources, src), uint64(sends)
	mine.kind, mine.atOrNeed, mine.loadOrHave = kindOf(direct, false, uint64(own)), 0, uint64(sends+length)
	e.offerPrivate(src, dst)
	mine.post(e.readyOut, s.tag)
	failpoint.Hit(failpoint.CopyReady)
	if own > 0 {
		s.ownAt = min(own, ownBetween(own))
		s.copies(ownDst[:s.ownAt], ownSrc[:s.ownAt])
		failpoint.Hit(failpoint.CopyHalf)
	}
	s.publish(call)

	if !s.lane.Sees(&e.readyIn[7], s.tag) {
		return false, nil
	}
	if theirs.read(e.readyIn); theirs.length != mine.sends || theirs.sends != mine.length || !written(mine, theirs) {
		return false, nil
	}
	to, err := e.place(theirs.want, theirs.length)
	if err != nil {
		return false, nil // it is found again, and told
	}
	s.copies(to, src)
	e.announce()
	s.lane.Rung()
	if at := s.ownAt; at < own {
		s.copies(ownDst[at:own], ownSrc[at:own])
		failpoint.Hit(failpoint.CopyHalf)
	}
	if !s.lane.Sees(e.completeIn, e.received+1) {
		s.fatal, s.otherCall, e.coming = nil, false, 1
		if err := s.await(ctx, (*answer)(s)); err != nil {
			return true, err
		}
	}
	e.received++
	return true, nil
}

// invited is invite behind a pair that has posted its line: nothing of it is changed, as
// the peer may be reading it.
func (s *Stream) invited() {
	s.unit = 1
	s.other.begin()
	s.open = append(s.open, s.other.peer)
}

// findOther finds the other one of a pair with a CPU each.
func (s *Stream) findOther() {
	if len(s.edges) == 2 && s.shares {
		s.other = &s.edges[1-s.own.peer]
	}
}

// written reports whether what goes between two ranks with a CPU each is all written by
// its senders.
func written(mine, theirs *ready) bool {
	if mine.how() != direct || theirs.how() != direct {
		return false
	}
	if mine.sends > 0 && mine.length > 0 {
		return true // only what goes one way is ever shared
	}
	out, _ := route(mine, theirs, true)
	in, _ := route(theirs, mine, true)
	return out == push && in == push
}

// shareable is 1 for what goes one way and is long enough to be shared, else 0.
func shareable(sends, length int) int {
	if sends != 0 && length != 0 || sends+length < shareLeast {
		return 0
	}
	return 1
}

// strays notes of an exchange that was made edge by edge whether it might have been one
// of pair's: the next like it most probably is as this one was, and to begin by pair what
// pair cannot do costs 50 ns.
func (e *edge) strays() {
	e.astray[shareable(int(e.mine.sends), int(e.mine.length))] = !written(&e.mine, &e.theirs)
}

// answer is the Condition that the other one's copy has come.
type answer Stream

// Look implements shmsync.Condition.
func (a *answer) Look() bool { return a.other.come() > 0 || a.fatal != nil }

// Missing implements shmsync.Condition.
func (a *answer) Missing(into []int) []int {
	if !a.Look() {
		into = append(into, a.other.peer)
	}
	return into
}
