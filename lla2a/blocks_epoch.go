package lla2a

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
)

// enter begins a call on blocks of size bytes, where dst has `have` bytes and
// needs that many. Whatever stands between it and the call's stores delays all
// members by as much, so the lane learns only behind them which call it is.
func (b *Blocks) enter(ctx context.Context, call *symmem.Record, size, have, need int) (*symmem.Lane, error) {
	if uint(size) > uint(b.plan.most) || have != need {
		return nil, b.misuse(size, have, need)
	}
	lane := b.team.Lane()
	if err := lane.Begin(ctx); err != nil {
		return nil, err
	}
	b.head = headOf(call, size, b.past)
	b.first, b.step, b.turn = b.small, 1, 2
	if size > smallBlock {
		b.first, b.step = b.large, b.plan.large
	}
	if b.plan.shared {
		b.step = 0 // there are boards only, at the same place in everybody's memory
	}
	return lane, nil
}

func (b *Blocks) misuse(size, have, need int) error {
	if size < 0 || size > b.plan.most {
		return fmt.Errorf("%w: blocks of %d bytes, at most %d", symmem.ErrUsage, size, b.plan.most)
	}
	return fmt.Errorf("%w: blocks of %d bytes into %d; %d are needed", symmem.ErrUsage, size, have, need)
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

// mayStore reports whether nobody is known to read what is stored to in this epoch
// any more. If it does not, makeRoom waits until that is so.
func (b *Blocks) mayStore() bool { return b.heard >= b.need() }

// need is how many epochs all must have ended before this member may store.
func (b *Blocks) need() uint64 { return uint64(max(int64(b.index)+1-int64(b.turn), 0)) }

func (b *Blocks) makeRoom(ctx context.Context, lane *symmem.Lane, call *symmem.Record) error {
	lane.Name(call)
	b.room.expect(b.need())
	if !b.room.Look() {
		lane.Publish() // peers shall see what this rank waits in
		if c := b.common; c != nil {
			atomic.AddUint64(c.room(), 1)
			defer atomic.AddUint64(c.room(), ^uint64(0))
		}
		if err := lane.Await(ctx, &b.room); err != nil {
			return err
		}
	}
	b.heard = b.room.least
	return nil
}

// post stores what is for everybody on the own board: p, and q behind it.
func (b *Blocks) post(ctx context.Context, lane *symmem.Lane, call *symmem.Record, p, q []byte) error {
	if !b.mayStore() {
		if err := b.makeRoom(ctx, lane, call); err != nil {
			return err
		}
	}
	b.mine.putTwo(b.first+b.me*b.step, b.head, b.tag, p, q)
	lane.Name(call)
	return nil
}

// give is the call of a member that others hear from and that hears from nobody: of
// root where all comes from it, of all but root where all goes there. It gives p, and q
// behind it.
func (b *Blocks) give(ctx context.Context, call *symmem.Record, p, q []byte, root int) error {
	lane, err := b.enterRooted(ctx, call, len(p)+len(q), 0, 0, root)
	if err != nil {
		return err
	}
	if err := b.post(ctx, lane, call, p, q); err != nil {
		return lane.Leave(err)
	}
	b.takeAhead(len(p) + len(q))
	lane.Publish()
	b.next()
	return b.end(ctx, lane, nil)
}

// takeFrom is what comes before the wait of a member that hears from root alone, a
// block of size bytes.
func (b *Blocks) takeFrom(ctx context.Context, call *symmem.Record, dst []byte, size, root int) (*symmem.Lane, error) {
	lane, err := b.enterRooted(ctx, call, size, 0, 0, root)
	if err != nil {
		return nil, err
	}
	lane.Name(call)
	lane.Publish()
	b.fetchAhead(root, size)
	b.in.expectOne(dst, size, root)
	b.next()
	return lane, nil
}

// enterRooted is enter for a call in which all comes from root, or all goes there.
func (b *Blocks) enterRooted(ctx context.Context, call *symmem.Record, size, have, need, root int) (*symmem.Lane, error) {
	if root < 0 || root >= len(b.all) {
		return nil, fmt.Errorf("%w: root %d of a team of %d", symmem.ErrUsage, root, len(b.all))
	}
	lane, err := b.enter(ctx, call, size, have, need)
	if err == nil && size <= boardBlock {
		b.first, b.step, b.turn = b.plan.boardAt(b.index), 0, deep
	}
	return lane, err
}

// collect is what comes before the wait of root, which has stored nothing.
func (b *Blocks) collect(lane *symmem.Lane, call *symmem.Record) {
	lane.Name(call)
	lane.PublishLate()
	for m := range b.all {
		if m != b.me {
			b.fetchAhead(m, b.in.size)
		}
	}
	b.next()
}

// Who only sends, in a row of calls, is soon ahead of those who only receive, by up to
// deep calls. Then all that a call takes is to get lines, for writing on the one side
// and for reading on the other, and both begin with that some calls before (8 bytes
// from one to another, in a row of calls, Zen 5, ns: 66 to 50 near, 300 to 95 far).

// takeAhead begins to take the board on which a call like this one stores, takenAhead
// calls from now, if nobody reads it any more.
func (b *Blocks) takeAhead(size int) {
	if i := b.index + takenAhead; size <= boardBlock && b.heard+deep > uint64(i) {
		b.mine.take(b.plan.boardAt(i), slotBefore+size)
	}
}

// fetchAhead begins to fetch the board on which the next call like this one finds the
// block of member m. To fetch it before m has stored would cost both of them, so that
// is for those who have been behind for some calls.
func (b *Blocks) fetchAhead(m, size int) {
	if b.behind > surelyBehind && size <= boardBlock {
		b.all[m].fetch(b.plan.boardAt(b.index+1), slotBefore+size)
	}
}

const (
	takenAhead   = 2 // calls
	surelyBehind = 2 // calls
)

// receiveRooted is receive for members that store nothing.
func (b *Blocks) receiveRooted(ctx context.Context, lane *symmem.Lane) error {
	b.in.waited = false
	err := b.receive(ctx, lane)
	if b.behind++; b.in.waited {
		b.behind = 0
	}
	return err
}

// receive waits for the blocks that are expected.
func (b *Blocks) receive(ctx context.Context, lane *symmem.Lane) error {
	if err := lane.Await(ctx, &b.in); err != nil {
		return err
	}
	b.in.dst = nil // the caller's memory is not kept
	if b.in.odd {
		return lane.Mismatch()
	}
	return nil
}

// foresee begins to take, from member m's memory, the lines that a call like this
// one stores there in the next epoch, which is the present one already. Nobody reads them any more once m has been
// heard, and they travel while this call ends and the program comes to the next:
// the half of the way of a line that its writer waits for (two ranks, AllToAll, ns,
// one line each way 110: 8 bytes 195 to 168, 512 bytes 365 to 285, 1 KiB 530 to
// 405, 4 KiB 1107 to 1010).
func (b *Blocks) foresee(m *slots, size int) {
	first := b.small
	if size > smallBlock {
		first = b.large
	}
	m.take(first+b.me*b.step, min(slotBefore+size, b.foreseen))
}

// foreseen is how many bytes foresee takes in a call: twice as many gained nothing
// more, and a program that calls something else next has taken them in vain.
const foreseen = 2 << 10

// told is what comes behind the call's stores, while the lines travel: all that is
// not needed before them, and would delay the next call's were it left to the end.
func (b *Blocks) told(lane *symmem.Lane, call *symmem.Record) {
	lane.Name(call)
	lane.PublishLate()
	lane.Sent()
	b.next()
}

// meet stores the own row and waits for everybody's. It is a part of an operation
// in which each hears from each.
func (b *Blocks) meet(ctx context.Context, lane *symmem.Lane, call *symmem.Record, row []byte) error {
	if !b.mayStore() {
		if err := b.makeRoom(ctx, lane, call); err != nil {
			return err
		}
	}
	if !b.common.put(b.index.Region(), b.head, row) {
		lane.Quiet()
	}
	lane.Name(call)
	lane.PublishLate()
	if err := lane.Await(ctx, b.common.tally); err != nil {
		return err
	}
	if !b.common.belong(b.index.Region(), b.head) {
		return lane.Mismatch()
	}
	return nil
}

// heardAll ends an epoch in which this member has heard from all others: they
// could not have sent in it before they had ended the one before. err is that of
// the call so far.
func (b *Blocks) heardAll(ctx context.Context, lane *symmem.Lane, err error) error {
	b.heard = uint64(b.index) - 1
	return b.end(ctx, lane, err)
}

// next makes the next epoch the present one, as far as this member's own account
// goes: nothing more is stored in the one that was. It comes before end, where
// there is time: while lines travel.
func (b *Blocks) next() {
	b.past = mix(b.past, b.head)
	// The tags begin a new lap at an even epoch, so regions take turns across it.
	b.index, b.tag = b.index+1, b.tag+1
	b.small, b.large = b.otherSmall-b.small, b.otherLarge-b.large
}

// end ends the epoch and the call, behind next. err is that of the call so far; the
// team is revoked then, and there is no next epoch.
func (b *Blocks) end(ctx context.Context, lane *symmem.Lane, err error) error {
	if err != nil {
		return lane.Leave(err)
	}
	// One writer, this rank. Release: what was read in this epoch was read
	// before a sender that sees the count stores there again.
	line.StoreRelease64(b.ended[b.me], uint64(b.index))
	if c := b.common; c != nil && c.wanted() {
		lane.Loud()
	}
	if b.tag > lastTag {
		err = b.newLap(ctx, lane)
	}
	return lane.Leave(err)
}

const lastTag = epoch.Lap + 1

// begin makes i the present epoch.
func (b *Blocks) begin(i epoch.Index) {
	b.index, b.tag = i, uint64(i.Tag())
	b.small, b.large = b.plan.smallAt(i), b.plan.largeAt(i)
	b.otherSmall, b.otherLarge = b.small+b.plan.smallAt(i+1), b.large+b.plan.largeAt(i+1)
}

// newLap forgets all tags, between two barriers: at the first everybody has ended
// the last epoch of the lap, at the second everybody's slots are clear.
func (b *Blocks) newLap(ctx context.Context, lane *symmem.Lane) error {
	if err := lane.Rendezvous(ctx); err != nil {
		return err
	}
	for i := range epoch.Index(deep) { // every eighth time would do: a lap is no multiple of deep
		b.mine.clear(b.plan.boardAt(i))
	}
	for region := range epoch.Index(2) {
		for s := range b.plan.slots {
			b.mine.clear(b.plan.smallAt(region) + s)
			if b.plan.large > 0 {
				b.mine.clear(b.plan.largeAt(region) + s*b.plan.large)
			}
		}
	}
	b.tag = uint64(b.index.Tag())
	return lane.Rendezvous(ctx)
}

// roomForAll is the Condition that every other member has ended enough epochs.
type roomForAll struct {
	me    int
	ended []*uint64 // by member
	need  uint64
	seen  int    // members that have, from the first on
	least uint64 // what the one has ended that has ended least
}

func (r *roomForAll) expect(need uint64) { r.need, r.seen, r.least = need, 0, 1<<64-1 }

// Look implements shmsync.Condition.
func (r *roomForAll) Look() bool {
	for ; r.seen < len(r.ended); r.seen++ {
		if r.seen == r.me {
			continue
		}
		ended := atomic.LoadUint64(r.ended[r.seen])
		if ended < r.need {
			return false
		}
		r.least = min(r.least, ended)
	}
	return true
}

// Missing implements shmsync.Condition.
func (r *roomForAll) Missing(into []int) []int {
	for m := range r.ended {
		if m != r.me && atomic.LoadUint64(r.ended[m]) < r.need {
			into = append(into, m)
		}
	}
	return into
}
