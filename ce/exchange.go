package ce

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
	shmsync "github.com/symwin/symwin/sync"
	"github.com/symwin/symwin/window"
)

// Part is one rank's side of an edge in an exchange: what it sends to the peer,
// and where it wants what the peer sends.
type Part struct {
	Src, Dst []byte
}

// Refusal says that this rank cannot take what comes.
type Refusal struct{ Need, Have int }

// Exchange moves parts[r].Src to every member r and parts[r].Dst from it, of any
// lengths that agree pairwise, zero included. The own part is copied here. It is
// the whole of AllToAll, AllGather, Gather, Scatter and Broadcast, with and
// without counts: they differ in the parts alone (doc.go has the table).
//
// Each edge goes the shortest way that its two ends allow: a Dst in a window is
// written by its sender; else a Src in a window is read by its receiver; else, if
// it is long, the receiver has the kernel read it; else the bytes pass through the
// receiver's staging ring. No rank need know which it is. A call.Engine of
// symmem.EngineBCopy sends everything through the ring.
// No Dst may overlap another part's memory. An own part whose Dst is its Src is
// left alone, which is all that gathering in place takes.
//
// If any member gives a Refusal, or has no room for the staging it needs, all
// return the same *symmem.TooShortError or *symmem.NoSpaceError and the team
// goes on. votes tells that members may refuse: then everybody hears from
// everybody before the first copy, and nothing is copied. Without it contents of
// Dst are undefined after ErrNoSpace.
//
// It is collective, with the same call and votes on all members, in the order of
// the stream: it waits for what was started before. parts is not kept; it and the
// memory may be used again after the return.
func (s *Stream) Exchange(ctx context.Context, call symmem.Record, parts []Part, votes bool, refuse *Refusal) error {
	me := s.team.Rank()
	if len(parts) != len(s.edges) {
		return fmt.Errorf("%w: %d parts for a team of %d", symmem.ErrUsage, len(parts), len(s.edges))
	}
	if own := &parts[me]; refuse == nil && len(own.Src) != len(own.Dst) {
		return fmt.Errorf("%w: this rank sends itself %d bytes and expects %d", symmem.ErrUsage, len(own.Src), len(own.Dst))
	}
	return s.call(ctx, &call, &operation{parts: parts, votes: votes, refuse: refuse})
}

// operation is what one exchange does.
type operation struct {
	parts  []Part
	votes  bool
	refuse *Refusal
	staged bool // all of it through the ring

	folder  Folder
	unit    int  // bytes of an element, which a fold does not cut
	length  int  // bytes to be folded here
	inPlace bool // and sources are written over meanwhile
}

// call makes one collective call of the stream's lane. An agreed error is
// returned by all members, and the team goes on; any other revokes it.
func (s *Stream) call(ctx context.Context, call *symmem.Record, op *operation) error {
	if err := s.drain(ctx); err != nil {
		return err
	}
	if err := s.lane.Enter(ctx, call); err != nil {
		return err
	}
	op.staged = call.Engine == symmem.EngineBCopy
	err := s.lane.Leave(s.operate(ctx, call, op))
	if err == nil && s.refuser >= 0 {
		return s.refusal()
	}
	return err
}

// operate is an operation inside the lane.
func (s *Stream) operate(ctx context.Context, call *symmem.Record, op *operation) (err error) {
	defer rescue(debug.SetPanicOnFault(true), &err)
	s.begin(call)
	err = s.invite(op)
	failpoint.Hit(failpoint.CopyReady)
	s.lane.PublishLate() // some may be invited, so an error concerns all
	if err != nil {
		return err
	}
	if op.votes {
		if err := s.await(ctx, (*hearing)(s)); err != nil {
			return err
		}
		s.void = s.refuser >= 0
	}
	if own := &op.parts[s.team.Rank()]; op.folder == nil && !s.void && s.refuser != s.team.Rank() && !sameStart(own.Dst, own.Src) {
		s.ownDst, s.ownSrc = own.Dst, own.Src
	}
	for len(s.open) > 0 || len(s.ownSrc) > 0 || s.folding() {
		if err := s.await(ctx, (*progress)(s)); err != nil {
			return err
		}
	}
	return nil
}

// begin forgets the last operation.
func (s *Stream) begin(call *symmem.Record) {
	s.sequence++
	line.StoreRelease64(&s.late.underWay, s.sequence)
	s.tag = tagOf(s.sequence, call)
	s.refuser, s.void, s.fatal, s.otherCall, s.stirred = -1, false, nil, false, false
	s.folder, s.folded, s.toFold = nil, 0, 0
	s.ownDst, s.ownSrc = nil, nil
	s.open = s.open[:0]
}

// ownPiece is how much of the own part is copied between two looks at the peers, and
// ownRest where no look can find anything to do (two ranks, Zen 5, all-to-all of 64
// KiB: 1.45 and 1.40 µs, of 128 KiB 2.69 and 2.54).
const (
	ownPiece = 16 << 10
	ownRest  = 256 << 10
)

// copyOwn copies some of the own part. It is what a member does while it would
// otherwise wait: behind its invitations, while the others' travel, and behind
// its last copy, while the news of it and of theirs travel.
func (s *Stream) copyOwn() {
	piece := ownPiece
	if s.onlyWaits() {
		piece = ownRest
	}
	n := min(len(s.ownSrc), max(piece, len(s.ownSrc)/8))
	s.copy(s.ownDst[:n], s.ownSrc[:n])
	failpoint.Hit(failpoint.CopyHalf)
	s.ownDst, s.ownSrc = s.ownDst[n:], s.ownSrc[n:]
}

// onlyWaits reports whether this rank has done all that others wait for.
func (s *Stream) onlyWaits() bool {
	for _, r := range s.open {
		if !s.edges[r].onlyWaits() {
			return false
		}
	}
	return true
}

// invite posts the ready lines, behind which peers may write here.
func (s *Stream) invite(op *operation) error {
	n, me := len(s.edges), s.team.Rank()
	s.unit = max(op.unit, 1)
	footprint := int64(0)
	needs := op.length > 0 && n > 1
	for r := range op.parts {
		p := &op.parts[r]
		footprint += int64(len(p.Src) + len(p.Dst))
		if s.places[r] = nowhere; !op.staged {
			s.places[r] = s.find(p.Dst)
		}
		if r != me && s.places[r] == nowhere && len(p.Dst) > 0 {
			needs = true
		}
	}
	s.copies = window.CopyLoop(footprint, n)
	mine := ready{}
	own := &op.parts[me]
	mine.load = uint64(footprint) - uint64(len(own.Src)+len(own.Dst))
	if !sameStart(own.Dst, own.Src) {
		mine.own = uint64(len(own.Src))
	}
	if op.refuse != nil {
		mine = ready{how: refusedShort, need: uint64(op.refuse.Need), have: uint64(op.refuse.Have)}
	} else if needs {
		if err := s.stage(); err != nil {
			ok := false
			if mine, ok = refuseSpace(err); !ok {
				return err
			}
		}
	}
	if mine.how.refuses() {
		s.refuser, s.refused = me, mine
	} else if op.length > 0 {
		s.folder, s.toFold, s.inPlace = op.folder, op.length, op.inPlace
		s.slices[me] = op.parts[me].Src
	}
	for k := 1; k < n; k++ {
		r := me + k
		if r >= n {
			r -= n
		}
		s.inviteOne(r, &op.parts[r], op, mine)
		s.open = append(s.open, r)
	}
	return nil
}

// find is where b lies in the own window, or nowhere.
func (s *Stream) find(b []byte) uint64 {
	if off, ok := s.finder.Find(b); ok {
		return off
	}
	return nowhere
}

func (s *Stream) inviteOne(r int, p *Part, op *operation, mine ready) {
	e := &s.edges[r]
	mine.source, mine.sends = nowhere, uint64(len(p.Src))
	if !op.inPlace && !op.staged {
		mine.source = s.find(p.Src)
	}
	private := reachable && op.unit == 0 && !op.staged // may be read by the kernel; what is folded has no place
	if private && mine.source == nowhere && len(p.Src) >= reachLeast {
		mine.at = addressOf(p.Src)
	}
	mine.reads = private && e.reach == reached && s.worthReading(len(p.Dst))
	switch mine.length = uint64(len(p.Dst) + op.length); {
	case mine.how.refuses() || mine.length == 0:
	case s.places[r] != nowhere:
		mine.want = s.places[r]
	default:
		mine.how = staged
		mine.want, _ = s.shareOf(r)
	}
	e.begin(s.tag, p.Src, p.Dst, mine)
}

// await waits until c holds or something cannot be.
func (s *Stream) await(ctx context.Context, c shmsync.Condition) error {
	err := s.lane.Await(ctx, c)
	if err == nil && s.otherCall {
		return s.lane.Mismatch()
	}
	if err == nil {
		err = s.fatal
	}
	return err
}

// fail notes what cannot be, and ends the wait in which it was seen.
func (s *Stream) fail(err error) {
	if s.fatal == nil {
		s.fatal = err
	}
}

// hearing is the Condition that every member's ready line has come.
type hearing Stream

// Look implements shmsync.Condition.
func (h *hearing) Look() bool {
	for _, r := range h.open {
		if !h.edges[r].hear() {
			return h.fatal != nil
		}
	}
	return true
}

// Missing implements shmsync.Condition.
func (h *hearing) Missing(into []int) []int {
	for _, r := range h.open {
		if !h.edges[r].hear() { // the look ended at the first that has not come
			into = append(into, r)
		}
	}
	(*Stream)(h).late.note((*Stream)(h), into)
	return into
}

// progress is the Condition that some edge has moved, or all are over. Looking
// is working: what can be copied is copied by the look that finds it.
type progress Stream

// Look implements shmsync.Condition.
func (p *progress) Look() bool {
	s := (*Stream)(p)
	if s.fatal != nil {
		return true // an edge that cannot be is not settled
	}
	moved := s.stirred
	s.stirred = false
	for i := 0; i < len(s.open); {
		e := &s.edges[s.open[i]]
		moved = e.advance() || moved
		if e.over() {
			s.open = append(s.open[:i], s.open[i+1:]...)
			moved = true
			continue
		}
		i++
	}
	if s.folding() && s.fatal == nil {
		moved = s.foldOn() || moved
	}
	if !moved && len(s.ownSrc) > 0 {
		s.copyOwn()
		moved = true
	}
	return moved || s.fatal != nil
}

// Missing implements shmsync.Condition. It does what can be done: who has done its
// part, and left, is not missing. That something has moved is told by the next look,
// which ends the wait as if it had moved there.
func (p *progress) Missing(into []int) []int {
	stirred := false
	for p.fatal == nil && len(p.open) > 0 && p.Look() {
		stirred = true
	}
	for _, r := range p.open {
		if p.edges[r].owes() {
			into = append(into, r)
		}
	}
	p.stirred = stirred || p.fatal != nil
	return into
}
