package lla2a

import (
	"context"
	"fmt"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/symmem"
	shmsync "github.com/symwin/symwin/sync"
	"github.com/symwin/symwin/window"
)

// Session is a set of slots over which the members of a team send each other
// elements of type T, epoch by epoch: in an epoch, slot j from one member to
// another is sent at most once. Any pattern is right, dense, sparse or one-way,
// as long as every member ends every epoch.
//
// One operation at a time per session; different sessions may be used from
// different goroutines. No operation allocates in the steady state.
//
// A program that sends a slot twice in an epoch, or forgets to end one, is wrong
// in a way that costs time to check; built with -tags symwindebug the session
// finds it and says rank, slot and epoch.
type Session[T any] struct {
	team    *symmem.Team
	area    *window.Area
	watch   *symmem.Watch
	layout  layout
	me      int // own team rank
	perPeer int
	slots   int // lines of one region
	mine    block
	peers   []peer

	index  epoch.Index
	tag    uint32 // of the present epoch
	region int    // line at which its region begins
	// regions is the sum of both.
	regions int
	last    sent
	unrung  bool // something was stored since doorbells were last looked at behind a full barrier

	looks int // at headers of other members; dense traffic needs none

	in      incoming
	room    roomFor
	lap     newLap
	abreast abreast

	never  never
	sent   []uint64 // by member and slot, under symwindebug: 1 + the last epoch it was sent in
	shut   bool     // closed, or a new lap has begun and not come through
	closed bool
}

// peer is what a member knows of another, and of itself.
type peer struct {
	block block
	first int // line of its slot 0, from the start of a region
	bell  *shmsync.Doorbell
	heard uint64 // how many epochs it is known to have ended, at least
}

// Open makes a session with perPeer slots from each member to each other. It is
// collective over team: all give the same perPeer and a T of the same size.
//
// T is any type free of pointers and not of size zero; that is checked here, once.
// The session takes, of every member's window, 128 bytes and two regions of
// Size·perPeer elements: 16 bytes for one of up to 8 bytes, for a larger one its size
// and 8 bytes, rounded up to 64 or, where that costs no element a cache line more and
// perPeer is a multiple of 2 or 4, to 32 or 16.
// Errors: ErrUsage, ErrNoSpace (on all members), ErrMismatch.
func Open[T any](ctx context.Context, team *symmem.Team, perPeer int) (*Session[T], error) {
	if err := window.CheckType[T](); err != nil {
		return nil, fmt.Errorf("lla2a.Open: %w", err)
	}
	size := window.SizeOf[T]()
	a := layoutOf(size, perPeer)
	slots, bytes, err := a.plan(team.Size(), perPeer, size)
	if err != nil {
		return nil, fmt.Errorf("lla2a.Open: %w: %w", symmem.ErrUsage, err)
	}
	call := symmem.Record{Op: symmem.OpOpen, Engine: symmem.EngineLL16, EltSize: size, Count: uint64(perPeer)}
	team.World().Hold()
	area, err := window.OpenArea(ctx, team, call, int64(bytes))
	if err != nil {
		team.World().Unhold()
		return nil, fmt.Errorf("lla2a.Open: %w", err)
	}
	s := &Session[T]{
		team: team, area: area, watch: symmem.NewWatch(team),
		layout: a, me: team.Rank(), perPeer: perPeer, slots: slots,
	}
	for r := range team.Size() {
		s.peers = append(s.peers, peer{
			block: blockOf(area.Peer(r)[beforeHeader:], 1+2*slots),
			first: epoch.SlotOf(r, 0, perPeer) * a.lines,
			bell:  team.Bell(r),
		})
	}
	s.mine = s.peers[s.me].block
	s.in = incoming{block: s.mine, layout: a, size: size, stride: perPeer * a.lines}
	s.lap = newLapOf(s.peers, team.Rank())
	if debug {
		s.sent = make([]uint64, team.Size()*perPeer)
	}
	s.enter(0)
	return s, nil
}

// beforeHeader is how far into the area the block begins, so that its first
// region begins at byte 128. The header has a cache line to itself then, and one
// that is not fetched along with the first slots: its owner writes it in every
// epoch, and would take those from their senders.
const beforeHeader = 128 - epoch.LineSize

// plan is how many lines a region has, a multiple of a cache line, and how many
// bytes every member sets aside.
func (a layout) plan(members, perPeer, size int) (slots, bytes int, err error) {
	elts, err := epoch.Elements(members, perPeer)
	if err != nil {
		return 0, 0, err
	}
	if slots, err = epoch.Slots(elts, min(size, 1)*8*a.lines); err != nil {
		return 0, 0, err
	}
	slots = (slots + 2*perCacheLine - 1) &^ (2*perCacheLine - 1)
	if bytes, err = epoch.Requirement(1, slots); err != nil {
		return 0, 0, err
	}
	return slots, beforeHeader + bytes, nil
}

// sent is where an element was sent to last.
type sent struct {
	to, j int
	in    epoch.Index
}

// enter makes i the present epoch.
func (s *Session[T]) enter(i epoch.Index) {
	s.index, s.tag, s.region = i, i.Tag(), epoch.RegionStart(i, s.slots)
	s.regions = s.region + epoch.RegionStart(i+1, s.slots)
}

// lineOf is where slot j of member `from` begins, in the region of the present
// epoch of any member's block.
func (s *Session[T]) lineOf(from, j int) int {
	return s.region + s.peers[from].first + j*s.layout.lines
}

// Close ends the session and gives its memory back. It is collective over the
// team: its memory is used again.
func (s *Session[T]) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	if err := s.sameEpochs(ctx); err != nil {
		return fmt.Errorf("lla2a.Close: %w", err)
	}
	if err := s.area.Close(ctx); err != nil {
		return fmt.Errorf("lla2a.Close: %w", err)
	}
	s.closed, s.shut = true, true
	s.team.World().Unhold()
	return nil
}

// refused reports whether an operation on slot j, of or to a member, may not
// start; refusal says why that, or Team.Ended, is so.
func (s *Session[T]) refused(peer, j int) bool {
	return uint(peer) >= uint(len(s.peers)) || uint(j) >= uint(s.perPeer) || s.shut
}

func (s *Session[T]) refusal(op symmem.Op, peer, j int) error {
	switch {
	case s.closed:
		return fmt.Errorf("this session is %w", symmem.ErrClosed)
	case peer < 0 || peer >= len(s.peers):
		return fmt.Errorf("%w: %v: rank %d of a team of %d", symmem.ErrUsage, op, peer, len(s.peers))
	case j < 0 || j >= s.perPeer:
		return fmt.Errorf("%w: %v: slot %d of a session with %d per peer", symmem.ErrUsage, op, j, s.perPeer)
	case s.shut && op != symmem.OpEndEpoch:
		return fmt.Errorf("%w: %v: EndEpoch has failed while a new lap of tags began; call it again first", symmem.ErrUsage, op)
	}
	return s.team.Usable()
}

// wait waits for c, and before that rings those who may sleep on what was sent.
// In an exchange the ring's barrier passes while the answer is on its way.
func (s *Session[T]) wait(ctx context.Context, op symmem.Op, c shmsync.Condition) error {
	if s.watch.Quick(c) {
		return nil
	}
	if s.unrung {
		s.unrung = false
		s.team.RingAll()
	}
	call := symmem.Record{Op: op, Engine: symmem.EngineLL16, EltSize: s.in.size, Sequence: uint64(s.index) + 1}
	return s.watch.Wait(ctx, call, c)
}
