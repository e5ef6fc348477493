package ce

import (
	"context"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Part is one rank's side of an edge in an exchange: what it sends to the peer,
// what it receives from it, and whether the latter lies in a window.
type Part struct {
	Src, Dst []byte
	At       window.Span // where Dst lies, if InWindow
	InWindow bool
}

// Refusal says that this rank cannot take what comes.
type Refusal struct{ Need, Have int }

// Exchange moves parts[r].Src to every member r and parts[r].Dst from it, of any
// lengths that agree pairwise. The own part is copied here. If any member gives
// a Refusal, nothing is copied and all return the same *symmem.TooShortError.
//
// votes tells that members may refuse: then everybody hears from everybody
// before the first copy. It is collective, with the same call and votes on all.
// parts is not kept; it and the memory may be used again after the return.
func (s *Stream) Exchange(ctx context.Context, call symmem.Record, parts []Part, votes bool, refuse *Refusal) error {
	if err := s.usable(); err != nil {
		return err
	}
	lane := s.team.Lane()
	if err := lane.Enter(ctx, call); err != nil {
		return err
	}
	s.sequence++
	s.invite(parts, refuse)
	lane.Publish()
	if votes {
		if tooShort, err := s.hearAll(ctx, lane, refuse); err != nil {
			return lane.Leave(err)
		} else if tooShort != nil {
			// Nobody posts the next ready line before all have read this one.
			if err := lane.Leave(lane.Rendezvous(ctx)); err != nil {
				return err
			}
			return tooShort
		}
	}
	me := s.team.Rank()
	window.Copy(parts[me].Dst, parts[me].Src)
	return lane.Leave(s.carry(ctx, lane))
}

// invite posts the ready lines of one operation.
func (s *Stream) invite(parts []Part, refuse *Refusal) {
	s.open, s.fatal = s.open[:0], nil
	var r readyLine
	if refuse != nil {
		r.refused, r.have = 1+uint64(refuse.Need), uint64(refuse.Have)
	}
	n, me := len(s.edges), s.team.Rank()
	for k := 1; k < n; k++ {
		p := me + k
		if p >= n {
			p -= n
		}
		place := staged
		if parts[p].InWindow {
			place = uint64(parts[p].At.Offset())
		}
		s.edges[p].begin(s.sequence, parts[p].Src, parts[p].Dst, place, r)
		s.open = append(s.open, p)
	}
}

// hearAll reads every member's ready line and returns the first refusal.
func (s *Stream) hearAll(ctx context.Context, lane *symmem.Lane, own *Refusal) (*symmem.TooShortError, error) {
	s.all.Expect(s.sequence)
	if err := lane.Await(ctx, s.all); err != nil {
		return nil, err
	}
	for m := range s.edges {
		if m == s.team.Rank() {
			if own != nil {
				return &symmem.TooShortError{Rank: m, Need: own.Need, Have: own.Have}, nil
			}
			continue
		}
		if r, _ := readReady(s.edges[m].readyIn, s.sequence); r.refused != 0 {
			return &symmem.TooShortError{Rank: m, Need: int(r.refused - 1), Have: int(r.have)}, nil
		}
	}
	return nil, nil
}

// carry works on all edges until nothing is left, and waits only when none of
// them can go on.
func (s *Stream) carry(ctx context.Context, lane *symmem.Lane) error {
	for len(s.open) > 0 {
		if err := lane.Await(ctx, (*progress)(s)); err != nil {
			return err
		}
		if s.fatal != nil {
			return s.fatal
		}
	}
	return nil
}

// progress is the Condition that some edge has moved, or all are over. Looking
// is working: what can be copied is copied by the look that finds it.
type progress Stream

// Look implements shmsync.Condition.
func (p *progress) Look() bool {
	s := (*Stream)(p)
	moved := false
	for i := 0; i < len(s.open); {
		e := &s.edges[s.open[i]]
		moved = e.advance() || moved
		if e.over() {
			s.open = append(s.open[:i], s.open[i+1:]...)
			continue
		}
		i++
	}
	return moved || len(s.open) == 0 || s.fatal != nil
}

// Missing implements shmsync.Condition.
func (p *progress) Missing(into []int) []int { return append(into, p.open...) }
