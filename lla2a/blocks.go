package lla2a

import (
	"context"
	"fmt"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Blocks carries small blocks of bytes between the members of a team: each to
// each (AllToAll), each to all (AllGather, AllReduce, ReduceScatter), one to all
// (Broadcast, Scatter), all to one (Gather, Reduce). Every operation is a collective call
// and an epoch of its own.
//
// Each member has two regions of slots, for even and for odd epochs, and in each
// a slot for every member: number s belongs to member s, who stores there what it
// sends to this one. The own one, which would carry nothing, is the member's
// board: what is for everybody is stored once, there, and read by all. Blocks of
// rooted calls of up to 1136 bytes, of which many may be under way, lie on one of
// sixteen more boards, which as many epochs take in turns.
//
// When may a member store in epoch i? When all have ended the last one in which the
// place was read: i−2, or i−16. A block from p in epoch i−1 or later proves that of
// p, so where everybody hears from everybody, as in the first four, the question
// never comes up. For the others each member counts the epochs it
// has ended in a line of its own, and only a sender that has not heard looks.
// (Were everybody to answer a broadcast with an empty block instead, each member
// would read and write a line of each other, and on a full machine a broadcast
// would take as long as a barrier.)
//
// Where ranks share CPUs, all that goes from everybody to everybody goes through
// rows instead of slots (common), which touches fewer pages; all else goes as said.
//
// A block's head says which call its sender made, and digests all calls it made
// before, so that data of another call is never taken for that of this one, and a
// difference in a call of which a member received nothing is found in the next of
// which it does.
//
// What an operation of n members costs one of them on paper, where every rank has
// a CPU, of blocks of L lines (one for 48 bytes, one more for each 64 beyond):
//
//	                       lines taken from others   lines fetched   locked instructions
//	AllToAll               (n−1)·L                   (n−1)·L         1, and 1 if it waits for long
//	AllGather, AllReduce   L                         (n−1)·L         the same
//	ReduceScatter          L, for all parts          (n−1)·L, of one the same
//	Broadcast, root        L                         (n−1)/16 up     the same
//	Broadcast, others      0                         L               the same
//	Scatter                as Broadcast, of a block of the others' parts
//	Gather, Reduce, root   0                         (n−1)·L         the same
//	Gather, Reduce, others L                         (n−1)/16 up     the same
//
// (who is as far ahead as there is room looks in every call, n−1, and of larger blocks
// in every second at least), and beside blocks, heads and tags three words of its own
// that nobody looks at meanwhile: what it calls, in two, and how many epochs it has
// ended. By rows, of B bytes for each member: n·B/64 lines and four more taken, n·(B/64 + 1) and n/8
// fetched, 2 locked instructions and one more by the last.
//
// Its calls are calls of the team's lane: one at a time per team. None allocates
// in the steady state.
type Blocks struct {
	team *symmem.Team
	area *window.Area
	plan plan
	me   int
	mine slots
	all  []slots // by member
	// ended are the words in which the members count the epochs they have ended.
	ended []*uint64
	// common is how all exchange with all if ranks share CPUs; else nil.
	common *common

	// The present epoch: its tag, and the lines at which its small and its large
	// slots begin; otherSmall and otherLarge are the sums of both regions' lines.
	index                  epoch.Index
	tag                    uint64
	small, large           int
	otherSmall, otherLarge int

	foreseen int // bytes that foresee takes at most

	heard uint64 // how many epochs all others are known to have ended
	past  uint64 // digest of the calls so far

	// The present call.
	head        uint64
	first, step int // the line of member 0's slot, and lines to the next member's
	turn        int // so many epochs later it is used again
	in          arrivals
	behind      int // waits for rooted calls, in a row, that found at once what they waited for
	room        roomForAll
	parts       [][]byte // of a reduction, by member
}

// OpenBlocks makes Blocks for blocks of up to maxBytes. It is collective over
// team; call is what it does it for, as records show it. Errors: ErrUsage,
// ErrNoSpace (on all members), ErrMismatch.
func OpenBlocks(ctx context.Context, team *symmem.Team, call symmem.Record, maxBytes int) (*Blocks, error) {
	return openBlocks(ctx, team, call, maxBytes, team.SharesCPUs())
}

func openBlocks(ctx context.Context, team *symmem.Team, call symmem.Record, maxBytes int, shared bool) (*Blocks, error) {
	p, err := planOf(team.Size(), maxBytes, shared)
	if err != nil {
		return nil, err
	}
	area, err := window.OpenArea(ctx, team, call, p.bytes())
	if err != nil {
		return nil, err
	}
	n, me := team.Size(), team.Rank()
	b := &Blocks{team: team, area: area, plan: p, me: me, parts: make([][]byte, n)}
	for r := range n {
		b.all = append(b.all, slotsOf(area.Peer(r)))
		b.ended = append(b.ended, b.all[r].ended())
	}
	b.mine = b.all[me]
	if shared {
		b.common = newCommon(&b.plan, b.all, me)
		for r := range b.ended {
			b.ended[r] = b.common.ended(r)
		}
	}
	b.foreseen = max(foreseen/max(n-1, 1), slotLine)
	b.in = arrivals{b: b}
	b.room = roomForAll{me: me, ended: b.ended}
	b.begin(0)
	return b, nil
}

// MaxBytes is the largest block.
func (b *Blocks) MaxBytes() int { return b.plan.most }

// Close gives the memory back. It is collective over the team.
func (b *Blocks) Close(ctx context.Context) error { return b.area.Close(ctx) }

// AllToAll sends src[r·size : (r+1)·size] to member r and receives what member r
// sent here into dst[r·size:]. dst and src hold Size blocks; they may be the same
// memory or overlap in any way, since all is sent before anything is received.
// size is at most MaxBytes, the same on all members; len(dst) is Size·size, and
// len(src) no less. A call of size 0 still waits for everybody. call is published
// as what this is.
func (b *Blocks) AllToAll(ctx context.Context, call *symmem.Record, dst, src []byte, size int) error {
	if len(src) < len(dst) {
		return fmt.Errorf("%w: %d bytes from %d", symmem.ErrUsage, len(dst), len(src))
	}
	n, me := len(b.all), b.me
	lane, err := b.enter(ctx, call, size, len(dst), n*size)
	if err != nil {
		return err
	}
	if c := b.common; c != nil {
		if err = b.meet(ctx, lane, call, src[:n*size]); err == nil {
			c.gather(dst, b.index.Region(), n*size, me*size, size)
		}
		b.next()
		return b.heardAll(ctx, lane, err)
	}
	if !b.mayStore() {
		if err := b.makeRoom(ctx, lane, call); err != nil {
			return lane.Leave(err)
		}
	}
	l := b.first + me*b.step
	for k := 1; k < n; k++ { // not all to the same member first
		to := me + k
		if to >= n {
			to -= n
		}
		b.all[to].put(l, b.head, b.tag, src[to*size:(to+1)*size])
	}
	b.in.expectAll(dst, size, false)
	b.told(lane, call)
	copy(dst[me*size:(me+1)*size], src[me*size:(me+1)*size])
	err = b.receive(ctx, lane)
	for k := 1; k < n; k++ {
		to := me + k
		if to >= n {
			to -= n
		}
		b.foresee(&b.all[to], size)
	}
	return b.heardAll(ctx, lane, err)
}

// AllGather sends src to every member and receives what member r sent into
// dst[r·len(src):], the own block too. len(src) is at most MaxBytes and the same
// on all members; dst holds Size blocks, and src may lie anywhere in it.
func (b *Blocks) AllGather(ctx context.Context, call *symmem.Record, dst, src []byte) error {
	n, me, size := len(b.all), b.me, len(src)
	lane, err := b.enter(ctx, call, size, len(dst), n*size)
	if err != nil {
		return err
	}
	if c := b.common; c != nil {
		if err = b.meet(ctx, lane, call, src); err == nil {
			c.gather(dst, b.index.Region(), size, 0, size)
		}
		b.next()
		return b.heardAll(ctx, lane, err)
	}
	if err := b.post(ctx, lane, call, src, nil); err != nil {
		return lane.Leave(err)
	}
	b.in.expectAll(dst, size, true)
	b.told(lane, call)
	copy(dst[me*size:(me+1)*size], src)
	err = b.receive(ctx, lane)
	b.foresee(&b.mine, size)
	return b.heardAll(ctx, lane, err)
}

// AllReduce reduces the members' src into dst on every member. reduce is called
// once, with the parts of all members in rank order, so a function of its
// arguments gives the same bits everywhere. The parts, of which those of others lie
// at multiples of 16 bytes, are only to be read, and only until reduce returns. The
// own part is src itself, which dst may be, too; they overlap in no other way.
// len(src) is len(dst), at most MaxBytes and the same on all members.
//
// Every member reads every part: for vectors so small that another round of
// waiting would cost more.
func (b *Blocks) AllReduce(ctx context.Context, call *symmem.Record, dst, src []byte, reduce func(dst []byte, parts ...[]byte)) error {
	return b.reduceEach(ctx, call, dst, src, 1, 0, reduce)
}

// ReduceScatter is AllReduce of which every member wants its own part alone: the
// members' src hold Size parts as long as dst, of which the own rank's are reduced into
// dst; they lie anywhere. dst may be the own part of src; they overlap in no other way.
func (b *Blocks) ReduceScatter(ctx context.Context, call *symmem.Record, dst, src []byte, reduce func(dst []byte, parts ...[]byte)) error {
	return b.reduceEach(ctx, call, dst, src, len(b.all), b.me, reduce)
}

// reduceEach reduces one of so many equal shares of all members' src into dst.
func (b *Blocks) reduceEach(ctx context.Context, call *symmem.Record, dst, src []byte, shares, share int, reduce func(dst []byte, parts ...[]byte)) error {
	size, part := len(src), len(dst)
	lane, err := b.enter(ctx, call, size, shares*part, size)
	if err != nil {
		return err
	}
	at := share * part
	if c := b.common; c != nil {
		err = b.meet(ctx, lane, call, src)
		for r := range b.parts {
			b.parts[r] = c.row(b.index.Region(), r, size)[at:][:part]
		}
		b.next()
	} else {
		if err := b.post(ctx, lane, call, src, nil); err != nil {
			return lane.Leave(err)
		}
		b.in.expectAll(nil, size, true)
		b.told(lane, call)
		for r := range b.parts {
			b.parts[r] = b.all[r].block(b.first+r*b.step, size)[at:][:part]
		}
		// Not the own board: its lines have gone to the others, and would have to
		// come back (8 bytes, Zen 4: 35 ns).
		b.parts[b.me] = src[at:][:part]
		err = b.receive(ctx, lane)
		b.foresee(&b.mine, size)
	}
	if err == nil {
		reduce(dst, b.parts...)
	}
	b.parts[b.me] = nil // the caller's memory is not kept
	return b.heardAll(ctx, lane, err)
}

// Broadcast sends root's buf to every member's buf. len(buf) is at most MaxBytes
// and the same on all members, root a team rank. The root waits only for members
// that are two calls behind, or sixteen of up to 1136 bytes, the others only for the
// root.
func (b *Blocks) Broadcast(ctx context.Context, call *symmem.Record, buf []byte, root int) error {
	if root == b.me {
		return b.give(ctx, call, buf, nil, root)
	}
	lane, err := b.takeFrom(ctx, call, buf, len(buf), root)
	if err != nil {
		return err
	}
	return b.end(ctx, lane, b.receiveRooted(ctx, lane))
}

// Scatter sends root's src[r·len(dst) : (r+1)·len(dst)] to every member r's dst, the own
// block too; the others' src is not looked at. src holds Size blocks, which are at most
// MaxBytes together; dst may lie anywhere in it. Who waits is as in Broadcast.
func (b *Blocks) Scatter(ctx context.Context, call *symmem.Record, dst, src []byte, root int) error {
	n, me, size := len(b.all), b.me, len(dst)
	if uint(n*size) > uint(b.plan.most) || root == me && len(src) != n*size {
		return b.misuse(n*size, len(src), n*size)
	}
	if root == me {
		err := b.give(ctx, call, src[:me*size], src[(me+1)*size:], root)
		if err == nil {
			copy(dst, src[me*size:(me+1)*size])
		}
		return err
	}
	lane, err := b.takeFrom(ctx, call, nil, (n-1)*size, root)
	if err != nil {
		return err
	}
	if err = b.receiveRooted(ctx, lane); err == nil {
		at := me * size // of what root stored, which is not its own part
		if me > root {
			at -= size
		}
		window.Copy(dst, b.all[root].block(b.first+root*b.step, (n-1)*size)[at:][:size])
	}
	return b.end(ctx, lane, err)
}

// Gather sends every member's src to root, which receives what member r sent into
// dst[r·len(src):], the own block too; the others' dst is not looked at. len(src) is at
// most MaxBytes and the same on all members, root a team rank; dst holds Size blocks,
// and src may lie anywhere in it. The root waits for everybody, the others only for
// members that are two calls behind, or sixteen of up to 1136 bytes.
func (b *Blocks) Gather(ctx context.Context, call *symmem.Record, dst, src []byte, root int) error {
	n, me, size := len(b.all), b.me, len(src)
	if root != me {
		return b.give(ctx, call, src, nil, root)
	}
	lane, err := b.enterRooted(ctx, call, size, len(dst), n*size, root)
	if err != nil {
		return err
	}
	b.in.expectAll(dst, size, true)
	b.collect(lane, call)
	copy(dst[me*size:(me+1)*size], src)
	return b.heardAll(ctx, lane, b.receiveRooted(ctx, lane))
}

// Reduce is AllReduce for root alone; the others' dst is not looked at, and they wait
// as in Gather.
func (b *Blocks) Reduce(ctx context.Context, call *symmem.Record, dst, src []byte, root int, reduce func(dst []byte, parts ...[]byte)) error {
	size := len(src)
	if root != b.me {
		return b.give(ctx, call, src, nil, root)
	}
	lane, err := b.enterRooted(ctx, call, size, len(dst), size, root)
	if err != nil {
		return err
	}
	b.in.expectAll(nil, size, true)
	b.collect(lane, call)
	for r := range b.parts {
		b.parts[r] = b.all[r].block(b.first+r*b.step, size)
	}
	b.parts[b.me] = src
	if err = b.receiveRooted(ctx, lane); err == nil {
		reduce(dst, b.parts...)
	}
	b.parts[b.me] = nil
	return b.heardAll(ctx, lane, err)
}
