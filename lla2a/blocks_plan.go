package lla2a

import (
	"fmt"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/symmem"
)

// plan says where things lie in a member's memory, in lines from the start:
//
//	0     how many epochs the member has ended
//	2     for sixteen epochs in turns: a board for blocks of rooted calls
//	then  for even and for odd epochs: slots of one line, one for each member
//	then  for even and for odd epochs: slots of most bytes, one for each member
//
// Blocks that share a line with their tag have slots of their own, side by side:
// a member finds many of them on one page.
//
// Where ranks share CPUs, rows take the slots' place (common), and of each kind
// there is one slot, the board:
//
//	then  for even and for odd epochs: the member's row, most bytes for each
//	then  the common memory, of which member 0's is used
type plan struct {
	members int
	most    int  // bytes of the largest block
	slots   int  // of a kind, for an epoch
	shared  bool // ranks share CPUs
	small   int  // lines of all small slots for an epoch
	large   int  // lines of a large slot; 0: there are none
	row     int  // lines of a row
	lines   int
}

// A rooted call's block lies on its sender's board, where it costs little to have many
// of them: so one who only sends need not wait until those who only receive have
// caught up.
const (
	deep       = 16                               // boards
	boardLines = 18                               // of each
	boardBlock = boardLines*slotLine - slotBefore // the largest block it holds: 1136 bytes
)

// apart is how far, in bytes, things of different writers are kept apart where
// that costs little: processors fetch the other line of an aligned pair along.
const apart = 2 * slotLine

// maxBlock bounds the blocks: far above any size for which this is the fast way.
const maxBlock = 1 << 24

func planOf(members, most int, shared bool) (plan, error) {
	if most < 0 || most > maxBlock {
		return plan{}, fmt.Errorf("%w: blocks of up to %d bytes; 0 to %d can be carried", symmem.ErrUsage, most, maxBlock)
	}
	p := plan{members: members, most: max(most, smallBlock), slots: members, shared: shared}
	if shared {
		p.slots = 1
		p.row = roundUp(members*p.most, apart) / slotLine
	}
	p.small = roundUp(p.slots, 2)
	if most > smallBlock {
		// An odd number of pairs of lines, so that the slots of many members
		// do not all fall into the same sets of the caches.
		p.large = roundUp(slotBefore+most, apart)/slotLine | 2
	}
	p.lines = p.commonAt()
	if shared {
		p.lines += commonSize(members) / slotLine
	}
	return p, nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Where things of epoch i begin.
func (p *plan) boardAt(i epoch.Index) int { return apart/slotLine + int(i%deep)*boardLines }
func (p *plan) smallAt(i epoch.Index) int {
	return apart/slotLine + deep*boardLines + i.Region()*p.small
}
func (p *plan) largeAt(i epoch.Index) int {
	return p.smallAt(0) + 2*p.small + i.Region()*p.slots*p.large
}
func (p *plan) rowAt(region int) int { return p.largeAt(0) + 2*p.slots*p.large + region*p.row }
func (p *plan) commonAt() int        { return p.rowAt(2) }

func (p *plan) bytes() int64 { return int64(p.lines) * slotLine }

// BlocksRequirement is how many bytes of every member's window OpenBlocks takes at
// most, for a team of so many members: about 18 KiB and 2·members·(64 + maxBytes) or,
// where ranks share CPUs, 2·(members+1)·maxBytes and 146 KiB. Errors: ErrUsage.
func BlocksRequirement(members, maxBytes int) (int64, error) {
	own, err := planOf(members, maxBytes, false)
	shared, _ := planOf(members, maxBytes, true)
	return max(own.bytes(), shared.bytes()), err
}
