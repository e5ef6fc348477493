package lla2a

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/internal/line"
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
type Session[T any] struct {
	team    *symmem.Team
	area    *window.Area
	perPeer int
	words   int // lines of one element
	pitch   int // lines from one word of an element to the next: maxElts
	slots   int
	index   epoch.Index
	mine    block
	peers   []block
	heard   []uint64 // by member: an epoch it is known to have reached, hence how many it has ended
	watch   *symmem.Watch
	in      incoming
	room    roomFor
	ended   *shmsync.Flags // the others' counts of ended epochs
	laps    *shmsync.Flags // and of laps they have cleared their blocks for
	ending  bool           // EndEpoch has begun a new lap and not come through
	closed  bool
}

// Open makes a session with perPeer slots from each member to each other. It is
// collective over team: all give the same perPeer and a T of the same size.
//
// T is any type free of pointers and not of size zero. The session takes
// (1 + 2·Size·perPeer·⌈size(T)/8⌉)·16 bytes of every member's window.
// Errors: ErrUsage, ErrNoSpace (on all members), ErrMismatch.
func Open[T any](ctx context.Context, team *symmem.Team, perPeer int) (*Session[T], error) {
	size := window.SizeOf[T]()
	if err := window.CheckType[T](); err != nil {
		return nil, fmt.Errorf("lla2a.Open: %w", err)
	}
	elts, err := epoch.Elements(team.Size(), perPeer)
	if err != nil {
		return nil, fmt.Errorf("lla2a.Open: %w: %w", symmem.ErrUsage, err)
	}
	slots, err := epoch.Slots(elts, size)
	if err != nil {
		return nil, fmt.Errorf("lla2a.Open: %w: %w", symmem.ErrUsage, err)
	}
	need, err := epoch.Requirement(1, slots)
	if err != nil {
		return nil, fmt.Errorf("lla2a.Open: %w: %w", symmem.ErrUsage, err)
	}
	call := symmem.Record{Op: symmem.OpOpen, Engine: symmem.EngineLL16, EltSize: size, Count: uint64(perPeer)}
	area, err := window.OpenArea(ctx, team, call, int64(need))
	if err != nil {
		return nil, fmt.Errorf("lla2a.Open: %w", err)
	}
	s := &Session[T]{
		team: team, area: area, perPeer: perPeer,
		words: epoch.Words(size), pitch: elts, slots: slots,
		heard: make([]uint64, team.Size()), watch: symmem.NewWatch(team),
	}
	s.mine = blockOf(area.Local(), 1+2*slots)
	ended, laps := make([]*uint64, team.Size()), make([]*uint64, team.Size())
	for r := range team.Size() {
		s.peers = append(s.peers, blockOf(area.Peer(r), 1+2*slots))
		if r != team.Rank() {
			ended[r], laps[r] = s.peers[r].ended(), s.peers[r].laps()
		}
	}
	s.ended, s.laps = shmsync.NewFlags(ended, team.Rank()+1), shmsync.NewFlags(laps, team.Rank()+1)
	s.in = incoming{block: s.mine, data: make([]uint64, s.words), pitch: s.pitch}
	team.World().Hold()
	return s, nil
}

// Send sends v to member `to` in slot j of this epoch. It returns when v is
// stored: at once, unless the receiver is more than an epoch behind and its
// block still holds what it may want; then it waits for room, and may be
// repeated if that wait fails. Sending to oneself is legal.
func (s *Session[T]) Send(ctx context.Context, to, j int, v T) error {
	if err := s.check("send", to, j); err != nil {
		return err
	}
	if !s.index.MayWrite(s.heard[to]) {
		if err := s.makeRoom(ctx, to); err != nil {
			return err
		}
	}
	s.store(to, j, &v)
	s.team.Ring(to)
	return nil
}

// Bcast sends v to every member, the own rank included, in slot j. It starts at
// the own rank, so that members do not all write to the same one first.
func (s *Session[T]) Bcast(ctx context.Context, j int, v T) error {
	if err := s.check("bcast", 0, j); err != nil {
		return err
	}
	n := len(s.peers)
	for k := range n {
		to := (s.team.Rank() + k) % n
		if !s.index.MayWrite(s.heard[to]) {
			if err := s.makeRoom(ctx, to); err != nil {
				return err
			}
		}
		s.store(to, j, &v)
	}
	s.team.RingAll()
	return nil
}

// Recv receives what member `from` sends in slot j of this epoch, waiting for
// it. An error is local: the call may be repeated.
func (s *Session[T]) Recv(ctx context.Context, from, j int) (v T, err error) {
	if err := s.check("recv", from, j); err != nil {
		return v, err
	}
	if err := s.await(ctx, from, j); err != nil {
		return v, err
	}
	s.take(&v)
	return v, nil
}

// RecvAll receives slot j of every member, the own one included, into dst by
// rank. Every member must have sent it (Bcast does).
func (s *Session[T]) RecvAll(ctx context.Context, j int, dst []T) error {
	if err := s.check("recv", 0, j); err != nil {
		return err
	}
	if len(dst) < len(s.peers) {
		return fmt.Errorf("%w: RecvAll into %d elements, the team has %d members", symmem.ErrUsage, len(dst), len(s.peers))
	}
	for from := range s.peers {
		if err := s.await(ctx, from, j); err != nil {
			return err
		}
		s.take(&dst[from])
	}
	return nil
}

// EndEpoch ends the epoch: what was sent in it and not received is lost, and all
// slots may be sent again. Every member ends every epoch, also one with nothing
// to say. It waits for the others only every 2³²−2 epochs, when the tags begin a
// new lap; should that wait fail, the epoch goes on, and only EndEpoch may be
// called, again.
func (s *Session[T]) EndEpoch(ctx context.Context) error {
	if err := s.usable(); err != nil {
		return err
	}
	// One writer, this rank. Release: the receives of this epoch are over
	// before a sender that reads the count overwrites them.
	line.StoreRelease64(s.mine.ended(), uint64(s.index)+1)
	if s.index.Wraps() {
		if err := s.newLap(ctx); err != nil {
			return err
		}
	}
	s.index++
	s.team.RingAll()
	return nil
}

// newLap clears the tags of the lap that ends: between two barriers, the one
// that all have ended its last epoch, the other that all have cleared their
// blocks. The session's own words are those barriers, not the team's: other
// sessions and collectives of the team may be under way.
func (s *Session[T]) newLap(ctx context.Context) error {
	call := symmem.Record{Op: symmem.OpEndEpoch, Engine: symmem.EngineLL16, Sequence: uint64(s.index) + 1}
	lap := uint64(s.index)/epoch.Lap + 1
	s.ending = true
	if *s.mine.laps() < lap { // else an EndEpoch that failed has done it: peers may write here already
		s.team.RingAll()
		s.ended.Expect(uint64(s.index) + 1)
		if err := s.watch.Wait(ctx, call, s.ended); err != nil {
			return err
		}
		s.mine.forget()
		line.StoreRelease64(s.mine.laps(), lap)
	}
	s.team.RingAll()
	s.laps.Expect(lap)
	if err := s.watch.Wait(ctx, call, s.laps); err != nil {
		return err
	}
	s.ending = false
	return nil
}

// Close ends the session and gives its memory back. It is collective over the
// team: its memory is used again.
func (s *Session[T]) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	if err := s.area.Close(ctx); err != nil {
		return fmt.Errorf("lla2a.Close: %w", err)
	}
	s.closed = true
	s.team.World().Unhold()
	return nil
}

// usable is the look on entry: loads that stay in the cache.
func (s *Session[T]) usable() error {
	if s.closed {
		return fmt.Errorf("this session is %w", symmem.ErrClosed)
	}
	return s.team.Usable()
}

func (s *Session[T]) check(what string, peer, j int) error {
	if peer < 0 || peer >= len(s.peers) {
		return fmt.Errorf("%w: %s: rank %d of a team of %d", symmem.ErrUsage, what, peer, len(s.peers))
	}
	if j < 0 || j >= s.perPeer {
		return fmt.Errorf("%w: %s: slot %d of a session with %d per peer", symmem.ErrUsage, what, j, s.perPeer)
	}
	if s.ending {
		return fmt.Errorf("%w: %s: EndEpoch has failed while a new lap of tags began; call it again first", symmem.ErrUsage, what)
	}
	return s.usable()
}

// store writes v's words into the lines of slot j in `to`'s block.
func (s *Session[T]) store(to, j int, v *T) {
	b, tag := s.peers[to], s.index.Tag()
	l := epoch.RegionStart(s.index, s.slots) + epoch.SlotOf(s.team.Rank(), j, s.perPeer)
	for p := bytesOf(v); len(p) > 0; l += s.pitch {
		var word [8]byte
		p = p[copy(word[:], p):]
		b.put(l, binary.LittleEndian.Uint64(word[:]), tag)
	}
}

// await waits for all lines of slot j from one member.
func (s *Session[T]) await(ctx context.Context, from, j int) error {
	s.in.expect(from, epoch.RegionStart(s.index, s.slots)+epoch.SlotOf(from, j, s.perPeer), s.index.Tag())
	if !s.in.Look() {
		if err := s.watch.Wait(ctx, symmem.Record{Op: symmem.OpRecv, Engine: symmem.EngineLL16, Sequence: uint64(s.index) + 1}, &s.in); err != nil {
			return err
		}
	}
	// A line of epoch i from p proves that p has ended i epochs.
	s.heard[from] = max(s.heard[from], uint64(s.index))
	return nil
}

// take copies the element that await found.
func (s *Session[T]) take(v *T) {
	p := bytesOf(v)
	for _, d := range s.in.data {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], d)
		p = p[copy(p, word[:]):]
	}
}

// makeRoom waits until member `to` has ended the epoch that used this region
// last.
func (s *Session[T]) makeRoom(ctx context.Context, to int) error {
	s.room = roomFor{peer: to, ended: s.peers[to].ended(), need: uint64(s.index) - 1}
	if !s.room.Look() {
		if err := s.watch.Wait(ctx, symmem.Record{Op: symmem.OpSend, Engine: symmem.EngineLL16, Sequence: uint64(s.index) + 1}, &s.room); err != nil {
			return err
		}
	}
	s.heard[to] = s.room.need
	return nil
}

// roomFor is the Condition that a member has ended enough epochs.
type roomFor struct {
	peer  int
	ended *uint64
	need  uint64
}

// Look implements shmsync.Condition.
func (r *roomFor) Look() bool { return atomic.LoadUint64(r.ended) >= r.need }

// Missing implements shmsync.Condition.
func (r *roomFor) Missing(into []int) []int {
	if !r.Look() {
		into = append(into, r.peer)
	}
	return into
}

// incoming is the Condition that all lines of one slot have come.
type incoming struct {
	block block
	pitch int
	data  []uint64
	from  int
	first int
	tag   uint32
	have  int // words of data that have come
}

func (in *incoming) expect(from, first int, tag uint32) {
	in.from, in.first, in.tag, in.have = from, first, tag, 0
}

// Look implements shmsync.Condition.
func (in *incoming) Look() bool {
	for ; in.have < len(in.data); in.have++ {
		d, ok := in.block.get(in.first+in.have*in.pitch, in.tag)
		if !ok {
			return false
		}
		in.data[in.have] = d
	}
	return true
}

// Missing implements shmsync.Condition.
func (in *incoming) Missing(into []int) []int {
	if !in.Look() {
		into = append(into, in.from)
	}
	return into
}
