package lla2a

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/symmem"
)

// TestCall is what tests that open Blocks say they call.
var TestCall = &symmem.Record{Op: symmem.OpAllToAll, Engine: symmem.EngineLL64}

// SmallBlock is the largest block that shares a line with its tag.
const SmallBlock = smallBlock

// BoardBlock is the largest block of which many rooted calls may be under way.
const BoardBlock = boardBlock

// OpenBlocksShared is OpenBlocks on a machine where ranks share CPUs, or do not.
func OpenBlocksShared(ctx context.Context, team *symmem.Team, most int, shared bool) (*Blocks, error) {
	return openBlocks(ctx, team, *TestCall, most, shared)
}

// StartAt makes epoch i the present one, as Session's does, with wrong blocks of
// the epochs that began the lap lying about in all slots.
func (b *Blocks) StartAt(i uint64) {
	b.begin(epoch.Index(i))
	b.heard = i
	atomic.StoreUint64(b.ended[b.me], i)
	for _, first := range firstOfLap(b.index) {
		// As if eight laps ago: boards are sixteen, and the tags of a lap two less.
		b.mine.put(b.plan.boardAt(first+epoch.Lap), 0xdeaddeaddeaddead, uint64(first.Tag()), bytes.Repeat([]byte{0xad}, boardBlock))
		for s := range b.plan.slots {
			b.mine.put(b.plan.smallAt(first)+s, 0xdeaddeaddeaddead, uint64(first.Tag()), bytes.Repeat([]byte{0xad}, smallBlock))
			b.mine.put(b.plan.largeAt(first)+s*b.plan.large, 0xdeaddeaddeaddead, uint64(first.Tag()), bytes.Repeat([]byte{0xad}, b.plan.most))
		}
	}
}

// OldTags counts the tags in the own slots that are of the lap before, for
// somebody who is in the first half of a lap.
func (b *Blocks) OldTags() (old int) {
	for i := range epoch.Index(deep) {
		old += int(atomic.LoadUint64(&b.mine.lines[b.plan.boardAt(i)].tag) >> 31)
	}
	for s := range b.plan.slots {
		for region := range epoch.Index(2) {
			old += int(atomic.LoadUint64(&b.mine.lines[b.plan.smallAt(region)+s].tag) >> 31)
			if b.plan.large > 0 {
				old += int(atomic.LoadUint64(&b.mine.lines[b.plan.largeAt(region)+s*b.plan.large].tag) >> 31)
			}
		}
	}
	return old
}

// Epoch is the present one.
func (b *Blocks) Epoch() uint64 { return uint64(b.index) }
