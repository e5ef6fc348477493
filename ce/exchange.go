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
// everybody before the first copy, and nothing is copied. Without it a Refusal is
// ErrUsage, and contents of Dst are undefined after ErrNoSpace.
//
// It is collective, with the same call and votes on all members, in the order of
// the stream: it waits for what was started before. parts is not kept; it and the
// memory may be used again after the return.
func (s *Stream) Exchange(ctx context.Context, call symmem.Record, parts []Part, votes bool, refuse *Refusal) error {
	if len(parts) != len(s.edges) {
		return fmt.Errorf("%w: %d parts for a team of %d", symmem.ErrUsage, len(parts), len(s.edges))
	}
	if refuse != nil && !votes {
		return fmt.Errorf("%w: a refusal in an exchange without votes", symmem.ErrUsage)
	}
	return s.call(ctx, &call, partsOf(parts), &operation{votes: votes, refuse: refuse})
}

// ExchangeEach is Exchange where part r follows from r: it is asked for of each member,
// perhaps twice, and has to be the same then. Nobody else can be inside meanwhile, so
// whoever calls it needs no memory for parts, and nothing that guards it.
func (s *Stream) ExchangeEach(ctx context.Context, call *symmem.Record, part func(r int) (src, dst []byte)) error {
	return s.call(ctx, call, part, &operation{})
}

func partsOf(parts []Part) func(r int) (src, dst []byte) {
	return func(r int) (src, dst []byte) { return parts[r].Src, parts[r].Dst }
}

// operation is what one exchange does, beside its parts.
type operation struct {
	votes  bool
	refuse *Refusal
	staged bool // all of it through the ring

	folder  Folder
	unit    int  // bytes of an element, which a fold does not cut
	length  int  // bytes to be folded here
	inPlace bool // and sources are written over meanwhile
}

// call makes one collective call of the stream's lane. An agreed error is
// returned by all members, and the team goes on; any other revokes it, but for that
// of parts which cannot be, of which nobody was told.
func (s *Stream) call(ctx context.Context, call *symmem.Record, part func(r int) (src, dst []byte), op *operation) error {
	if err := s.drain(ctx); err != nil {
		return err
	}
	if err := s.lane.Begin(ctx); err != nil {
		return err
	}
	op.staged = op.staged || call.Engine == symmem.EngineBCopy
	before := s.sequence
	err := s.operate(ctx, call, part, op)
	if err != nil && s.sequence != before {
		s.publish(call) // some may be invited, so it concerns all
	}
	var refusal error
	if err == nil && s.refuser >= 0 {
		refusal = s.refusal()
	}
	if err = s.lane.Leave(err); err == nil {
		err = refusal
	}
	return err
}

// assign gives each edge what it is to carry, and that of this rank its own part. needs
// tells that something comes to memory of which no peer knows where it lies.
func (s *Stream) assign(part func(r int) (src, dst []byte), op *operation) (needs bool, err error) {
	me, footprint := s.team.Rank(), 0
	needs = op.length > 0 && len(s.edges) > 1
	for r := range s.edges {
		src, dst := part(r)
		footprint += len(src) + len(dst)
		e := &s.edges[r]
		e.src, e.dst, e.lies = src, dst, nowhere
		if r == me {
			continue
		}
		if !op.staged {
			e.lies = find(s.places, dst)
		}
		if e.lies == nowhere && len(dst) > 0 {
			needs = true
		}
	}
	s.footprint = int64(footprint)
	if src, dst := len(s.own.src), len(s.own.dst); src != dst && op.folder == nil && op.refuse == nil {
		for r := range s.edges {
			s.edges[r].src, s.edges[r].dst = nil, nil
		}
		return false, fmt.Errorf("%w: this rank sends itself %d bytes and expects %d", symmem.ErrUsage, src, dst)
	}
	return needs, nil
}

// operate is an operation inside the lane. Before the invitations and the first piece of
// the own part comes as little as can be. What comes behind a piece passes while its last
// lines are being stored: up to 30 ns cost nothing there, on Zen 5, and each one here.
func (s *Stream) operate(ctx context.Context, call *symmem.Record, part func(r int) (src, dst []byte), op *operation) (err error) {
	defer rescue(debug.SetPanicOnFault(true), &err)
	if s.other == nil || op.votes || op.staged || op.folder != nil {
		return s.edgeByEdge(ctx, call, part, op, false)
	}
	before := s.sequence
	done, err := s.pair(ctx, call, part)
	if done {
		return err
	}
	if err = s.edgeByEdge(ctx, call, part, op, s.sequence != before); err == nil {
		s.other.strays()
	}
	return err
}

// edgeByEdge is an operation of any number of members, in any way. A pair may have posted
// its line.
func (s *Stream) edgeByEdge(ctx context.Context, call *symmem.Record, part func(r int) (src, dst []byte), op *operation, posted bool) error {
	needs, err := s.assign(part, op)
	if err != nil {
		return err
	}
	s.begin()
	if posted {
		s.invited()
	} else {
		s.number(call)
		if err := s.invite(op, needs); err != nil {
			return err
		}
		failpoint.Hit(failpoint.CopyReady)
	}
	late := s.footprint <= little && !op.votes
	if !late {
		s.publish(call)
	}
	if op.votes {
		if err := s.await(ctx, (*hearing)(s)); err != nil {
			return err
		}
		s.void = s.refuser >= 0
	}
	s.startOwn(op)
	if late {
		s.publish(call)
	}
	for s.unfinished() {
		if (*progress)(s).Look() && s.fatal == nil {
			continue
		}
		if err := s.await(ctx, (*progress)(s)); err != nil {
			return err
		}
	}
	return nil
}

// little is the bytes, read and written, of what is little to copy: what comes a piece of
// it late, be it a copy or the name of the call, is not late.
const little = 256 << 10

// publish tells which call this is.
func (s *Stream) publish(call *symmem.Record) {
	s.lane.Name(call)
	s.lane.PublishLate()
}

// unfinished reports whether something is left to do.
func (s *Stream) unfinished() bool { return len(s.open) > 0 || s.ownLeft() || s.folding() }

// number begins an operation, made in whichever way: it has a number, its ready lines a
// tag, and nobody has refused or copied anything.
func (s *Stream) number(call *symmem.Record) {
	s.sequence++
	line.StoreRelease64(&s.late.underWay, s.sequence)
	s.tag = tagOf(s.sequence, call)
	s.refuser, s.ownAt = -1, 0
}

// begin forgets the last operation, for one that is made edge by edge.
func (s *Stream) begin() {
	s.void, s.fatal, s.otherCall, s.stirred = false, nil, false, false
	s.folder, s.folded, s.toFold = nil, 0, 0
	s.ownEnd = 0
	s.open = s.open[:0]
}

// invite posts the ready lines, behind which peers may write here.
func (s *Stream) invite(op *operation, needs bool) error {
	n, me := len(s.edges), s.team.Rank()
	s.unit = max(op.unit, 1)
	s.copyAs(s.footprint)
	own := s.own
	all := ready{loadOrHave: uint64(s.footprint) - uint64(len(own.src)+len(own.dst))}
	if !sameStart(own.dst, own.src) {
		all.kind = kindOf(direct, false, uint64(len(own.src)))
	}
	if op.refuse != nil {
		all = refusing(refusedShort, int64(op.refuse.Need), int64(op.refuse.Have))
	} else if needs {
		if err := s.stage(); err != nil {
			ok := false
			if all, ok = refuseSpace(err); !ok {
				return err
			}
		}
	}
	if all.refuses() {
		s.refuser, s.refused = me, all
	} else if op.length > 0 {
		s.folder, s.toFold, s.inPlace = op.folder, op.length, op.inPlace
		s.slices[me] = own.src
	}
	for k := 1; k < n; k++ {
		r := me + k
		if r >= n {
			r -= n
		}
		s.inviteOne(r, op, &all)
		s.open = append(s.open, r)
	}
	return nil
}

// find is where b lies in the own window, or nowhere.
func find(f *window.Finder, b []byte) uint64 {
	if off, ok := f.Find(b); ok {
		return off
	}
	return nowhere
}

// inviteOne invites member r, with what all are told.
func (s *Stream) inviteOne(r int, op *operation, all *ready) {
	e := &s.edges[r]
	mine, sends, length := &e.mine, len(e.src), len(e.dst)+op.length
	want, source, kind := uint64(0), uint64(nowhere), all.kind
	if !op.inPlace && !op.staged {
		source = find(s.sources, e.src)
	}
	if !all.refuses() {
		switch {
		case length == 0:
		case e.lies != nowhere:
			want = e.lies
		default:
			kind |= uint64(staged)
			want, _ = s.shareOf(r)
		}
	}
	mine.want, mine.length, mine.source, mine.sends = want, uint64(length), source, uint64(sends)
	mine.kind, mine.atOrNeed, mine.loadOrHave = kind, all.atOrNeed, all.loadOrHave
	if !all.refuses() && op.unit == 0 && !op.staged { // what is folded has no place that the kernel may read
		e.offerPrivate(e.src, e.dst)
	}
	e.begin()
	mine.post(e.readyOut, s.tag)
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
	if !moved && s.ownLeft() {
		s.copyOwn(s.nextOfOwn())
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
