package lla2a

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Blocks carries small blocks of bytes between all members of a team. Every call
// is dense, each member sends to each, and that is the whole flow control: a
// line from p in epoch i proves that p has done with epoch i−1, so the region of
// epoch i+1, last used in i−1, is free everywhere once epoch i has been received.
//
// Its calls are calls of the team's lane: one at a time per team.
type Blocks struct {
	team   *symmem.Team
	area   *window.Area
	stride int // lines of one sender in one region: a head, and the data
	slots  int // lines of one region
	index  epoch.Index
	mine   block
	peers  []block
	in     arrivals
}

// headOf is the first line of every block: what its sender called. Data of
// another call is told by it even where the lengths would fit.
func headOf(call *symmem.Record, size int) uint64 {
	return uint64(size)<<32 | uint64(call.EltSize&0xffff)<<16 | uint64(call.Op)
}

// OpenBlocks makes Blocks for up to maxBytes from each member to each other. It
// is collective over team; call is what it does it for, as records show it.
func OpenBlocks(ctx context.Context, team *symmem.Team, call symmem.Record, maxBytes int) (*Blocks, error) {
	// A multiple of four lines, so that the head and the first 16 bytes behind
	// it lie in one cache line for every sender (a region starts at line 1).
	stride := (1 + epoch.Words(max(maxBytes, 1)) + 3) &^ 3
	slots, err := epoch.Slots(team.Size(), 8*stride)
	if err != nil {
		return nil, err
	}
	need, err := epoch.Requirement(1, slots)
	if err != nil {
		return nil, err
	}
	area, err := window.OpenArea(ctx, team, call, int64(need))
	if err != nil {
		return nil, err
	}
	b := &Blocks{team: team, area: area, stride: stride, slots: slots}
	lines := 1 + 2*slots
	b.mine = blockOf(area.Local(), lines)
	for r := range team.Size() {
		b.peers = append(b.peers, blockOf(area.Peer(r), lines))
	}
	b.in = arrivals{block: b.mine, stride: stride, skip: team.Rank()}
	return b, nil
}

// MaxBytes is the largest block.
func (b *Blocks) MaxBytes() int { return 8 * (b.stride - 1) }

// AllToAll sends src[r·size : (r+1)·size] to member r and receives what member r
// sent here into dst[r·size:]. dst and src hold Size blocks and do not overlap;
// size is at most MaxBytes, the same on all members. A call of size 0 still
// waits for everybody. call is published as what this is.
func (b *Blocks) AllToAll(ctx context.Context, call symmem.Record, dst, src []byte, size int) error {
	if size < 0 || size > b.MaxBytes() {
		return fmt.Errorf("%w: blocks of %d bytes, at most %d", symmem.ErrUsage, size, b.MaxBytes())
	}
	lane := b.team.Lane()
	if err := lane.Enter(ctx, call); err != nil {
		return err
	}
	n, me := b.team.Size(), b.team.Rank()
	tag, start, head := b.index.Tag(), epoch.RegionStart(b.index, b.slots), headOf(&call, size)
	for k := 1; k < n; k++ {
		to := me + k
		if to >= n {
			to -= n
		}
		l := start + me*b.stride
		b.peers[to].put(l, head, tag)
		b.peers[to].putBytes(l+1, src[to*size:(to+1)*size], tag)
	}
	lane.Publish()
	copy(dst[me*size:(me+1)*size], src[me*size:(me+1)*size])
	b.in.expect(dst, n, size, start, tag, head)
	err := lane.Await(ctx, &b.in)
	if err == nil && b.in.odd {
		err = lane.Mismatch()
	}
	if err == nil {
		err = b.turn(ctx, lane)
	}
	return lane.Leave(err)
}

// turn goes on to the next epoch. Where the tags begin a new lap, everybody
// clears the own block between two barriers.
func (b *Blocks) turn(ctx context.Context, lane *symmem.Lane) error {
	if b.index.Wraps() {
		if err := lane.Rendezvous(ctx); err != nil {
			return err
		}
		b.mine.forget()
		if err := lane.Rendezvous(ctx); err != nil {
			return err
		}
	}
	b.index++
	return nil
}

// Close gives the memory back. It is collective over the team.
func (b *Blocks) Close(ctx context.Context) error { return b.area.Close(ctx) }

// putBytes stores p into the lines from l on.
func (b block) putBytes(l int, p []byte, tag uint32) {
	for len(p) >= 8 {
		b.put(l, binary.LittleEndian.Uint64(p), tag)
		p, l = p[8:], l+1
	}
	if len(p) == 0 {
		return
	}
	var last [8]byte
	copy(last[:], p)
	b.put(l, binary.LittleEndian.Uint64(last[:]), tag)
}

// arrivals is the Condition that a block has come from every other member. It
// copies what it finds: one look at a line both tests and fetches it.
//
// It fetches each sender's lines from the last to the first. A sender stores
// them first to last, so while it is at it the receiver looks at a line that is
// stored last, and does not take back the one that is being written. Tags prove
// every line; the order only saves time.
type arrivals struct {
	block  block
	stride int // lines between senders
	skip   int // the own rank

	dst    []byte
	n      int // members
	size   int
	start  int
	tag    uint32
	head   uint64
	odd    bool // a block has come that belongs to another call
	sender int  // the one being looked at
	left   int  // lines of it that have not come
}

func (a *arrivals) expect(dst []byte, n, size, start int, tag uint32, head uint64) {
	a.dst, a.n, a.size, a.start, a.tag, a.head, a.odd = dst, n, size, start, tag, head, false
	a.sender, a.left = 0, a.lines()
}

// lines is how many lines a block takes with its head.
func (a *arrivals) lines() int { return 1 + (a.size+7)/8 }

// Look implements shmsync.Condition.
func (a *arrivals) Look() bool {
	for ; a.sender < a.n; a.sender, a.left = a.sender+1, a.lines() {
		if a.sender != a.skip && !a.fetch() {
			return false
		}
		if a.odd {
			return true
		}
	}
	return true
}

// fetch takes on what has come from the current sender.
func (a *arrivals) fetch() bool {
	l := a.start + a.sender*a.stride
	to := a.dst[a.sender*a.size : (a.sender+1)*a.size]
	for a.left > 0 {
		u := a.left - 1
		data, ok := a.block.get(l+u, a.tag)
		if !ok {
			return false
		}
		switch rest := to[8*max(u-1, 0):]; {
		case u == 0:
			a.odd = data != a.head
		case len(rest) >= 8:
			binary.LittleEndian.PutUint64(rest, data)
		default:
			var last [8]byte
			binary.LittleEndian.PutUint64(last[:], data)
			copy(rest, last[:])
		}
		a.left--
	}
	return true
}

// Missing implements shmsync.Condition.
func (a *arrivals) Missing(into []int) []int {
	for s := a.sender; s < a.n; s++ {
		if s == a.skip {
			continue
		}
		for u := range a.lines() {
			if _, ok := a.block.get(a.start+s*a.stride+u, a.tag); !ok {
				into = append(into, s)
				break
			}
		}
	}
	return into
}
