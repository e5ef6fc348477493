package lla2a

import "sync/atomic"

// block is one rank's block as 8-byte words: line l is words 2l and 2l+1. Line 0
// is the header, whose first word counts the epochs its owner has ended, and its
// second the laps of tags it has cleared the block for.
//
// Writers: the header, its owner; line SlotOf(s, j) of a region, sender s. The
// readers of the header are senders in need of room, and everybody at the end of
// a lap; of the lines, the owner. layout says in which order.
type block []uint64

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
