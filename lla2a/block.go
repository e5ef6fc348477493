package lla2a

import (
	"sync/atomic"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/internal/line"
)

// block is one rank's block as 8-byte words: line l is words 2l and 2l+1. Line 0
// is the header, whose first word counts the epochs its owner has ended, and its
// second the laps of tags it has cleared the block for.
//
// Writers: the header, its owner; line SlotOf(s, j) of a region, sender s. The
// readers of the header are senders in need of room, and everybody at the end of
// a lap; of the lines, the owner.
// Both halves of a line are stored with release and loaded with acquire, which
// is more than their tags need: it orders a receive before what its caller does
// next.
type block []uint64

// put stores data into line l under tag, in two stores of which each is whole.
func (b block) put(l int, data uint64, tag uint32) {
	lo, hi := epoch.Pack(data, tag).Halves()
	h := b[2*l : 2*l+2 : 2*l+2]
	line.StoreRelease64(&h[0], lo)
	line.StoreRelease64(&h[1], hi)
}

// get loads line l and reports whether both halves are of the epoch with tag.
func (b block) get(l int, tag uint32) (uint64, bool) {
	h := b[2*l : 2*l+2 : 2*l+2]
	return epoch.FromHalves(atomic.LoadUint64(&h[0]), atomic.LoadUint64(&h[1])).Unpack(tag)
}

// ended is how many epochs the block's owner has ended.
func (b block) ended() *uint64 { return &b[0] }

// laps is how many laps of tags are over for the block's owner: nothing of them
// is left in it.
func (b block) laps() *uint64 { return &b[1] }

// forget clears both regions, so that no tag of the lap that ends is left. The
// header is kept: it counts epochs, not tags.
func (b block) forget() {
	for i := 2; i < len(b); i++ {
		atomic.StoreUint64(&b[i], 0)
	}
}
