package lla2a

import (
	"fmt"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/symmem"
)

// plan says where a member's slots lie, in lines from the start of its area:
//
//	0     how many epochs the member has ended
//	2     for even and for odd epochs: a slot of one line for each member
//	then  for even and for odd epochs: a slot of most bytes for each member
//	then  where ranks share CPUs: common memory, of which member 0's is used
//
// Blocks that share a line with their tag have slots of their own, side by side:
// a member finds many of them on one page.
type plan struct {
	members int
	most    int // bytes of the largest block
	small   int // lines of a region of small slots
	step    int // lines of a large slot; 0: there are none
	common  int // line where common memory begins; 0: there is none
	lines   int
}

// apart is how far, in bytes, things of different writers are kept apart where
// that costs little: processors fetch the other line of an aligned pair along.
const apart = 2 * slotLine

// maxBlock bounds the blocks: far above any size for which this is the fast way.
const maxBlock = 1 << 24

func planOf(members, most int, common bool) (plan, error) {
	if most < 0 || most > maxBlock {
		return plan{}, fmt.Errorf("%w: blocks of up to %d bytes; 0 to %d can be carried", symmem.ErrUsage, most, maxBlock)
	}
	p := plan{members: members, most: max(most, smallBlock), small: roundUp(members, 2)}
	if most > smallBlock {
		// An odd number of pairs of lines, so that the slots of many members
		// do not all fall into the same sets of the caches.
		p.step = roundUp(slotBefore+most, apart)/slotLine | 2
	}
	p.lines = p.largeAt(0) + 2*members*p.step
	if common {
		p.common = p.lines
		p.lines += commonSize(members) / slotLine
	}
	return p, nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// smallAt and largeAt are where the slots of epoch i begin.
func (p *plan) smallAt(i epoch.Index) int { return apart/slotLine + i.Region()*p.small }
func (p *plan) largeAt(i epoch.Index) int {
	return apart/slotLine + 2*p.small + i.Region()*p.members*p.step
}

// slot is where the slot of member s for a block of size bytes begins.
func (p *plan) slot(i epoch.Index, size, s int) int {
	if size <= smallBlock {
		return p.smallAt(i) + s
	}
	return p.largeAt(i) + s*p.step
}

func (p *plan) bytes() int64 { return int64(p.lines) * slotLine }

// BlocksRequirement is how many bytes of every member's window OpenBlocks takes at
// most, for a team of so many members: about 2·members·(64 + maxBytes), and 128
// KiB where ranks share CPUs. Errors: ErrUsage.
func BlocksRequirement(members, maxBytes int) (int64, error) {
	p, err := planOf(members, maxBytes, true)
	return p.bytes(), err
}
