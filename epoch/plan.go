package epoch

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrPlan is what every error of this package wraps: numbers of which no block
// can be made, because one is below its least value or the result is more than
// an int counts.
var ErrPlan = errors.New("impossible plan")

// wordSize is how many bytes of an element one line carries.
const wordSize = 8

// blockAlign keeps neighbouring blocks, which are written by different lanes,
// out of each other's cache lines, and of the pair of lines that the adjacent
// line prefetcher of amd64 fetches together.
const blockAlign = 128

// Elements is the maxElts of a session in which each of `members` may send
// perPeer elements an epoch: members · perPeer. SlotOf numbers them.
func Elements(members, perPeer int) (int, error) {
	if err := atLeastOne("members", members, "elements per peer", perPeer); err != nil {
		return 0, err
	}
	n, ok := mul(members, perPeer)
	if !ok {
		return 0, tooLarge("%d members with %d elements each", members, perPeer)
	}
	return n, nil
}

// Words is how many lines an element of eltSize bytes takes, ⌈eltSize/8⌉; the
// last may be part filled.
func Words(eltSize int) int {
	n := eltSize / wordSize
	if eltSize%wordSize != 0 {
		n++
	}
	return n
}

// Slots is how many lines one region of a block has that receives up to maxElts
// elements of up to eltSize bytes in an epoch: maxElts · Words(eltSize). An
// element of no bytes is refused, since without a line nothing tells that it
// was sent.
func Slots(maxElts, eltSize int) (int, error) {
	if err := atLeastOne("elements", maxElts, "bytes per element", eltSize); err != nil {
		return 0, err
	}
	n, ok := mul(maxElts, Words(eltSize))
	if !ok {
		return 0, tooLarge("%d elements of %d bytes", maxElts, eltSize)
	}
	return n, nil
}

// Requirement is how many bytes a member must set aside, aligned to 128, for
// `blocks` blocks of `slots` slots a region. A block uses (1 + 2·slots) lines of
// 16 bytes, and each but the last is rounded up to 128 bytes.
//
// Whatever BlockStart, RegionStart, WordAt and SlotOf say about a plan that
// Requirement has accepted lies inside that many bytes, so they need no checks
// of their own.
func Requirement(blocks, slots int) (int, error) {
	if err := atLeastOne("blocks", blocks, "slots", slots); err != nil {
		return 0, err
	}
	last, ok := blockBytes(slots)
	if !ok || last > math.MaxInt-blockAlign+1 {
		return 0, tooLarge("%d blocks of %d slots", blocks, slots)
	}
	before, ok := mul(blocks-1, alignUp(last))
	if !ok || before > math.MaxInt-last {
		return 0, tooLarge("%d blocks of %d slots", blocks, slots)
	}
	return before + last, nil
}

// BlockStart is where block `block` begins, in bytes from the first one.
func BlockStart(block, slots int) int {
	size, _ := blockBytes(slots)
	return block * alignUp(size)
}

// RegionStart is where the region of epoch i begins, in lines from the start of
// its block.
func RegionStart(i Index, slots int) int { return 1 + i.Region()*slots }

// WordAt is where word `word` of the element in slot `slot` lies, in lines from
// the start of a region with maxElts = pitch. The same word of all elements lie
// side by side, so elements of 8 bytes from every rank are one dense run.
func WordAt(slot, word, pitch int) int { return slot + word*pitch }

// SlotOf is the slot of element j (less than perPeer) of team rank `sender`.
// It belongs to that sender alone: two senders cannot collide, and a receiver
// knows by the address who wrote.
func SlotOf(sender, j, perPeer int) int { return sender*perPeer + j }

// PackedRegionStart is where NCCL, which does not align its blocks, begins the
// region of epoch i in block `block`: in lines from the start of block 0. No
// memory here is laid out so; it is for comparing with traces and tests of NCCL.
func PackedRegionStart(i Index, block, slots int) int {
	return block*(1+2*slots) + RegionStart(i, slots)
}

// Plan is the memory of one member for those who pack by hand: how much it sets
// aside, and where in it what lies. Its functions are those of this package with
// the plan's own numbers put in, in bytes from the start of the memory.
//
// Every member makes the same plan, from numbers that all agree on; then a sender
// knows where in a receiver's memory to store without asking. What a Session of
// package lla2a does beyond that: it waits for room (Index.MayWrite), it ends
// epochs (the header), and it takes the step to a new lap of tags with all others
// (Index.Wraps).
type Plan struct {
	Blocks  int // independent lanes
	MaxElts int // elements that a block receives in an epoch
	EltSize int // bytes of the largest of them
	Slots   int // lines of a region
	Bytes   int // to set aside, aligned to 128
}

// NewPlan plans `blocks` blocks that receive up to maxElts elements of up to
// eltSize bytes in an epoch. Errors are ErrPlan.
func NewPlan(blocks, maxElts, eltSize int) (Plan, error) {
	slots, err := Slots(maxElts, eltSize)
	if err != nil {
		return Plan{}, err
	}
	bytes, err := Requirement(blocks, slots)
	if err != nil {
		return Plan{}, err
	}
	return Plan{Blocks: blocks, MaxElts: maxElts, EltSize: eltSize, Slots: slots, Bytes: bytes}, nil
}

// Header is where the header of a block is: its first 8 bytes count the epochs
// that the owner of the memory has ended.
func (p Plan) Header(block int) int { return BlockStart(block, p.Slots) }

// Line is where, in epoch i, word `word` of the element in slot `slot` of a block
// is: the line of 16 bytes that its sender stores and the owner of the memory
// loads. The arguments are below Blocks, MaxElts and Words(EltSize).
func (p Plan) Line(i Index, block, slot, word int) int {
	return p.Header(block) + LineSize*(RegionStart(i, p.Slots)+WordAt(slot, word, p.MaxElts))
}

// blockBytes is what one block uses, before it is rounded up.
func blockBytes(slots int) (int, bool) {
	if slots > (math.MaxInt/LineSize-1)/2 {
		return 0, false
	}
	return (1 + 2*slots) * LineSize, true
}

func alignUp(n int) int { return (n + blockAlign - 1) &^ (blockAlign - 1) }

// mul multiplies two numbers that are not negative; ok is false if an int does
// not hold the product.
func mul(a, b int) (product int, ok bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int(lo), hi == 0 && lo <= math.MaxInt
}

func atLeastOne(nameA string, a int, nameB string, b int) error {
	if a < 1 {
		return fmt.Errorf("epoch: %w: %d %s; at least 1 is needed", ErrPlan, a, nameA)
	}
	if b < 1 {
		return fmt.Errorf("epoch: %w: %d %s; at least 1 is needed", ErrPlan, b, nameB)
	}
	return nil
}

func tooLarge(what string, args ...any) error {
	return fmt.Errorf("epoch: %w: %s need more than an int counts; ask for fewer or smaller ones",
		ErrPlan, fmt.Sprintf(what, args...))
}
