package lla2a

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Blocks carries small blocks of bytes between the members of a team: each to
// each (AllToAll), each to all (AllGather, AllReduce), one to all (Broadcast).
// Every operation is a collective call and an epoch of its own.
//
// Each member has two regions of slots, for even and for odd epochs, and in each
// a slot for every member: number s belongs to member s, who stores there what it
// sends to this one. The own one, which would carry nothing, is the member's
// board: what is for everybody is stored once, there, and read by all.
//
// When may a member store in epoch i? When all have ended epoch i−2, the last in
// which the region was read. A block from p in epoch i−1 or later proves that of
// p, so where everybody hears from everybody, as in all operations but Broadcast,
// the question never comes up. For the others each member counts the epochs it
// has ended in a line of its own, and only a sender that has not heard looks.
// (Were everybody to answer a broadcast with an empty block instead, each member
// would read and write a line of each other, and on a full machine a broadcast
// would take as long as a barrier.)
//
// A block's head says which call its sender made, and digests all calls it made
// before, so that data of another call is never taken for that of this one, and a
// difference in a call of which a member received nothing is found in the next of
// which it does.
//
// Its calls are calls of the team's lane: one at a time per team. None allocates
// in the steady state.
type Blocks struct {
	team *symmem.Team
	area *window.Area
	plan plan
	mine slots
	all  []slots // by member

	index epoch.Index
	heard uint64 // how many epochs all others are known to have ended
	past  uint64 // digest of the calls so far
	in    arrivals
	room  roomForAll
	parts [][]byte // AllReduce's, by member
}

// plan says where a member's slots lie, in bytes from the start of its area:
//
//	0     how many epochs the member has ended
//	128   for even and for odd epochs: a slot of one line for each member
//	then  for even and for odd epochs: a slot of most bytes for each member
//
// Blocks that share a line with their tag have slots of their own, side by side,
// so that with many ranks a member finds them on one page.
type plan struct {
	members int
	most    int
	stride  int // from one large slot to the next; 0: there are none
	small   int // bytes of a region of small slots
	size    int
}

// apart is how far things of different writers are kept apart where it costs
// little memory: processors fetch the other line of an aligned pair along.
const apart = 128

const endedAt, slotsAt = 0, apart

func planOf(members, most int) (plan, error) {
	if most < 0 || most > maxBlock {
		return plan{}, fmt.Errorf("%w: blocks of up to %d bytes; 0 to %d can be carried", symmem.ErrUsage, most, maxBlock)
	}
	p := plan{members: members, most: max(most, smallBlock), small: roundUp(members*slotLine, apart)}
	if most > smallBlock {
		// An odd number of pairs of lines, so that the slots of many members
		// do not all fall into the same sets of the caches.
		p.stride = roundUp(slotBefore+most, apart) | apart
	}
	p.size = slotsAt + 2*(p.small+members*p.stride)
	return p, nil
}

// maxBlock bounds the blocks: far above any size for which this is the fast way.
const maxBlock = 1 << 24

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// slot is where the slot of member s for a block of size bytes begins.
func (p *plan) slot(i epoch.Index, size, s int) int {
	if size <= smallBlock {
		return slotsAt + i.Region()*p.small + s*slotLine
	}
	return slotsAt + 2*p.small + (i.Region()*p.members+s)*p.stride
}

// step is how far the slots of two members in turn are apart.
func (p *plan) step(size int) int { return p.slot(0, size, 1) - p.slot(0, size, 0) }

// BlocksRequirement is how many bytes of every member's window OpenBlocks takes
// for a team of so many members: about 2·members·(64 + maxBytes).
func BlocksRequirement(members, maxBytes int) (int64, error) {
	p, err := planOf(members, maxBytes)
	return int64(p.size), err
}

// OpenBlocks makes Blocks for blocks of up to maxBytes. It is collective over
// team; call is what it does it for, as records show it. Errors: ErrUsage,
// ErrNoSpace (on all members), ErrMismatch.
func OpenBlocks(ctx context.Context, team *symmem.Team, call symmem.Record, maxBytes int) (*Blocks, error) {
	p, err := planOf(team.Size(), maxBytes)
	if err != nil {
		return nil, err
	}
	area, err := window.OpenArea(ctx, team, call, int64(p.size))
	if err != nil {
		return nil, err
	}
	n, me := team.Size(), team.Rank()
	b := &Blocks{team: team, area: area, plan: p, parts: make([][]byte, n)}
	for r := range n {
		b.all = append(b.all, slotsOf(area.Peer(r)))
	}
	b.mine = b.all[me]
	b.in = arrivals{me: me, mine: b.mine, all: b.all}
	b.room = roomForAll{me: me, all: b.all}
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
// len(src) no less. A call of size 0 still
// waits for everybody. call is published as what this is.
func (b *Blocks) AllToAll(ctx context.Context, call symmem.Record, dst, src []byte, size int) error {
	if len(src) < len(dst) {
		return fmt.Errorf("%w: %d bytes from %d", symmem.ErrUsage, len(dst), len(src))
	}
	lane, err := b.enter(ctx, &call, size, len(dst), len(b.all)*size)
	if err != nil {
		return err
	}
	if err := b.makeRoom(ctx, lane); err != nil {
		return lane.Leave(err)
	}
	n, me := len(b.all), b.team.Rank()
	at := b.plan.slot(b.index, size, me)
	for k := 1; k < n; k++ { // not all to the same member first
		to := me + k
		if to >= n {
			to -= n
		}
		b.all[to].put(at, b.in.head, b.in.tag, src[to*size:(to+1)*size])
	}
	lane.PublishLate()
	copy(dst[me*size:(me+1)*size], src[me*size:(me+1)*size])
	b.in.expectAll(dst, size)
	b.in.boards = false // each has sent its own
	return lane.Leave(b.finish(ctx, lane))
}

// AllGather sends src to every member and receives what member r sent into
// dst[r·len(src):], the own block too. len(src) is at most MaxBytes and the same
// on all members; dst holds Size blocks, and src may lie anywhere in it.
func (b *Blocks) AllGather(ctx context.Context, call symmem.Record, dst, src []byte) error {
	size, me := len(src), b.team.Rank()
	lane, err := b.enter(ctx, &call, size, len(dst), len(b.all)*size)
	if err != nil {
		return err
	}
	if err := b.post(ctx, lane, src); err != nil {
		return lane.Leave(err)
	}
	lane.PublishLate()
	copy(dst[me*size:(me+1)*size], src)
	b.in.expectAll(dst, size)
	return lane.Leave(b.finish(ctx, lane))
}

// AllReduce reduces the members' src into dst on every member. reduce is called
// once, with the parts of all members in rank order, so a function of its
// arguments gives the same bits everywhere. The parts, each at a multiple of 16
// bytes, are only to be read, and only until reduce returns; dst overlaps none of
// them, even where the caller's dst and src overlap, which they may. len(src) is
// len(dst), at most MaxBytes and the same on all members.
//
// Every member reads every part: for vectors so small that another round of
// waiting would cost more.
func (b *Blocks) AllReduce(ctx context.Context, call symmem.Record, dst, src []byte, reduce func(dst []byte, parts ...[]byte)) error {
	size := len(src)
	lane, err := b.enter(ctx, &call, size, len(dst), size)
	if err != nil {
		return err
	}
	if err := b.post(ctx, lane, src); err != nil {
		return lane.Leave(err)
	}
	lane.PublishLate()
	for r := range b.parts {
		b.parts[r] = b.all[r].block(b.plan.slot(b.index, size, r), size)
	}
	b.in.expectAll(nil, size)
	if err = b.receive(ctx, lane); err == nil {
		reduce(dst, b.parts...)
		err = b.turn(ctx, lane)
	}
	return lane.Leave(err)
}

// Broadcast sends root's buf to every member's buf. len(buf) is at most MaxBytes
// and the same on all members, root a team rank. The root waits only for members
// that are two broadcasts behind, the others only for the root.
func (b *Blocks) Broadcast(ctx context.Context, call symmem.Record, buf []byte, root int) error {
	if root < 0 || root >= len(b.all) {
		return fmt.Errorf("%w: root %d of a team of %d", symmem.ErrUsage, root, len(b.all))
	}
	lane, err := b.enter(ctx, &call, len(buf), 0, 0)
	if err != nil {
		return err
	}
	if root == b.team.Rank() {
		if err = b.post(ctx, lane, buf); err == nil {
			lane.Publish()
			err = b.turn(ctx, lane)
		}
		return lane.Leave(err)
	}
	lane.Publish()
	b.in.expectOne(buf, root)
	return lane.Leave(b.finish(ctx, lane))
}

// enter begins a call on blocks of size bytes, where dst has len(dst) = have
// bytes and needs that many.
func (b *Blocks) enter(ctx context.Context, call *symmem.Record, size, have, need int) (*symmem.Lane, error) {
	if size < 0 || size > b.plan.most {
		return nil, fmt.Errorf("%w: blocks of %d bytes, at most %d", symmem.ErrUsage, size, b.plan.most)
	}
	if have != need {
		return nil, fmt.Errorf("%w: blocks of %d bytes into %d; %d are needed", symmem.ErrUsage, size, have, need)
	}
	lane := b.team.Lane()
	if err := lane.Enter(ctx, *call); err != nil {
		return nil, err
	}
	b.in.tag, b.in.head = uint64(b.index.Tag()), headOf(call, size, b.past)
	b.in.boards, b.in.at, b.in.step = true, b.plan.slot(b.index, size, 0), b.plan.step(size)
	return lane, nil
}

// headOf tells the call of a block from every other that could be made instead,
// after calls of this digest. Two calls that differ in one of size, operation,
// root (to 1024) and element size (to 64 KiB) differ in their heads; whatever
// else they differ in escapes once in four thousand million times.
func headOf(call *symmem.Record, size int, past uint64) uint64 {
	fields := uint32(call.Op)&0x3f | uint32(call.Root)&0x3ff<<6 | uint32(call.EltSize)<<16
	other := mix(uint64(call.Engine), call.Digest^call.Count)
	return uint64(size)<<32 | uint64(fields^uint32(past^other))
}

// mix digests one word more.
func mix(past, word uint64) uint64 {
	return bits.RotateLeft64((past^word)*0x9e3779b97f4a7c15, 32)
}

// makeRoom waits until nobody reads the region of this epoch any more.
func (b *Blocks) makeRoom(ctx context.Context, lane *symmem.Lane) error {
	if b.index.MayWrite(b.heard) {
		return nil
	}
	b.room.expect(uint64(b.index) - 1)
	if !b.room.Look() {
		lane.Publish() // peers shall see what this rank waits in
		if err := lane.Await(ctx, &b.room); err != nil {
			return err
		}
	}
	b.heard = b.room.least
	return nil
}

// post stores what is for everybody on the own board.
func (b *Blocks) post(ctx context.Context, lane *symmem.Lane, p []byte) error {
	if err := b.makeRoom(ctx, lane); err != nil {
		return err
	}
	b.mine.put(b.plan.slot(b.index, len(p), b.team.Rank()), b.in.head, b.in.tag, p)
	return nil
}

// finish receives what is expected and ends the epoch.
func (b *Blocks) finish(ctx context.Context, lane *symmem.Lane) error {
	if err := b.receive(ctx, lane); err != nil {
		return err
	}
	return b.turn(ctx, lane)
}

// receive waits for the blocks that are expected.
func (b *Blocks) receive(ctx context.Context, lane *symmem.Lane) error {
	if err := lane.Await(ctx, &b.in); err != nil {
		return err
	}
	if b.in.odd {
		return lane.Mismatch()
	}
	if b.in.everybody {
		b.heard = uint64(b.index) // else they could not have sent in this epoch
	}
	return nil
}

// turn ends the epoch. Where the tags begin a new lap, everybody forgets the
// own slots between two barriers.
func (b *Blocks) turn(ctx context.Context, lane *symmem.Lane) error {
	b.past = mix(b.past, b.in.head)
	// One writer, this rank. Release: what was read in this epoch was read
	// before a sender that sees the count stores there again.
	line.StoreRelease64(b.mine.ended(), uint64(b.index)+1)
	if b.index.Wraps() {
		if err := lane.Rendezvous(ctx); err != nil {
			return err
		}
		b.forget()
		if err := lane.Rendezvous(ctx); err != nil {
			return err
		}
	}
	b.index++
	return nil
}

// forget leaves no tag in the own slots.
func (b *Blocks) forget() {
	for region := range epoch.Index(2) {
		for s := range b.all {
			b.mine.clear(b.plan.slot(region, 0, s))
			if b.plan.stride > 0 {
				b.mine.clear(b.plan.slot(region, b.plan.most, s))
			}
		}
	}
}

// roomForAll is the Condition that every other member has ended enough epochs.
type roomForAll struct {
	me    int
	all   []slots
	need  uint64
	seen  int    // members that have, from the first on
	least uint64 // what the one has ended that has ended least
}

func (r *roomForAll) expect(need uint64) { r.need, r.seen, r.least = need, 0, 1<<64-1 }

// Look implements shmsync.Condition.
func (r *roomForAll) Look() bool {
	for ; r.seen < len(r.all); r.seen++ {
		if r.seen == r.me {
			continue
		}
		ended := atomic.LoadUint64(r.all[r.seen].ended())
		if ended < r.need {
			return false
		}
		r.least = min(r.least, ended)
	}
	return true
}

// Missing implements shmsync.Condition.
func (r *roomForAll) Missing(into []int) []int {
	for m := range r.all {
		if m != r.me && atomic.LoadUint64(r.all[m].ended()) < r.need {
			into = append(into, m)
		}
	}
	return into
}
