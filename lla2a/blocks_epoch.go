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
// needs that many.
func (b *Blocks) enter(ctx context.Context, call *symmem.Record, size, have, need int) (*symmem.Lane, error) {
	if uint(size) > uint(b.plan.most) || have != need {
		return nil, b.misuse(size, have, need)
	}
	lane := b.team.Lane()
	if err := lane.Enter(ctx, *call); err != nil {
		return nil, err
	}
	b.head = headOf(call, size, b.past)
	b.first, b.step = b.small, 1
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
	b.mine.put(b.first+b.me*b.step, b.head, b.tag, p)
	return nil
}

// receive waits for the blocks that are expected.
func (b *Blocks) receive(ctx context.Context, lane *symmem.Lane) error {
	if err := lane.Await(ctx, &b.in); err != nil {
		return err
	}
	if b.in.odd {
		return lane.Mismatch()
	}
	return nil
}

// meet stores the own row and waits for everybody's. It is a part of an operation
// in which each hears from each.
func (b *Blocks) meet(ctx context.Context, lane *symmem.Lane, row []byte) error {
	if err := b.makeRoom(ctx, lane); err != nil {
		return err
	}
	if !b.common.put(b.index.Region(), b.head, row) {
		lane.Quiet()
	}
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
	b.heard = uint64(b.index)
	return b.end(ctx, lane, err)
}

// end ends the epoch and the call. err is that of the call so far; the team is
// revoked then, and there is no next epoch.
func (b *Blocks) end(ctx context.Context, lane *symmem.Lane, err error) error {
	if err != nil {
		return lane.Leave(err)
	}
	// One writer, this rank. Release: what was read in this epoch was read
	// before a sender that sees the count stores there again.
	line.StoreRelease64(b.ended[b.me], uint64(b.index)+1)
	b.past = mix(b.past, b.head)
	if b.tag == lastTag {
		err = b.newLap(ctx, lane)
	}
	// The tags begin a new lap at an even epoch, so regions take turns across it.
	b.index, b.tag = b.index+1, b.tag+1
	b.small, b.large = b.otherSmall-b.small, b.otherLarge-b.large
	return lane.Leave(err)
}

const lastTag = uint64(epoch.Lap) + 1

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
	for region := range epoch.Index(2) {
		for s := range b.plan.slots {
			b.mine.clear(b.plan.smallAt(region) + s)
			if b.plan.large > 0 {
				b.mine.clear(b.plan.largeAt(region) + s*b.plan.large)
			}
		}
	}
	b.tag = uint64(b.index.Tag()) - uint64(epoch.Lap) // of the epoch before the lap's first
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
