package lla2a

import (
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
)

// A slot holds one block of bytes. It begins on a cache line:
//
//	bytes 0–7    tag: the epoch that the block is of, stored last
//	bytes 8–15   head: the call that the block belongs to
//	bytes 16 …   the block, in one piece; its first 48 bytes share the tag's line
//
// One writer, who stores the block and the head plainly and then the tag with
// release; one reader at a time per epoch and member, who loads the tag with
// acquire and touches the rest only if it is the tag he waits for. That is right
// on amd64, where stores become visible in program order and loads happen in
// it, whatever copy uses for the bytes: stores of a string instruction may change
// places among each other, but a store behind the instruction is not seen before
// them, and no byte that is ever a tag is part of a block. On arm64 the release
// store (STLR) is not seen before anything stored earlier, and nothing behind the
// acquiring load (LDAR) is done before it. The race detector sees the same pair
// and checks the rest: all other accesses are plain.
//
// So one line carries a block of up to 48 bytes, and n bytes beyond those take
// n/64 lines. Shapes with a tag in every line were no faster at any size (two
// ranks, AllToAll, ns, medians of 22 to 24 blocks in turns, one line each way
// 130 ns; 16-byte lines of 8 bytes, 64-byte lines of 56, this one):
//
//	bytes      8    48    64   256   512    1K    2K    4K    8K   16K
//	16-byte  148   185   184   324   403   554  1291  2570  3520  6287
//	64-byte  131   133   153   242   315   438   702  1352  2179  3874
//	slot     133   144   151   257   331   453   691  1345  1996  3719
const (
	slotLine   = 64
	slotBefore = 16 // bytes of a slot before its block
	smallBlock = slotLine - slotBefore
)

// slots is one member's memory of Blocks, as words and as bytes.
type slots struct {
	words []uint64
	bytes []byte
}

// put stores block p of a call into the slot at byte `at`. What shares no line
// with the tag comes first: the receiver is looking at that line, and would take
// it away in the middle.
func (s slots) put(at int, head, tag uint64, p []byte) {
	if len(p) > smallBlock {
		copy(s.bytes[at+slotLine:], p[smallBlock:])
		p = p[:smallBlock]
	}
	copy(s.bytes[at+slotBefore:], p)
	s.words[at/8+1] = head
	line.StoreRelease64(&s.words[at/8], tag)
}

// has reports whether the slot at byte `at` holds the block of the epoch with
// this tag. If so, head and block are to be read.
func (s slots) has(at int, tag uint64) bool { return atomic.LoadUint64(&s.words[at/8]) == tag }

// head says which call the block belongs to.
func (s slots) head(at int) uint64 { return s.words[at/8+1] }

// block is the block itself, size bytes.
func (s slots) block(at, size int) []byte { return s.bytes[at+slotBefore:][:size:size] }

// clear makes the slot one that was never written.
func (s slots) clear(at int) { atomic.StoreUint64(&s.words[at/8], 0) }

// ended is how many epochs the member has ended.
func (s slots) ended() *uint64 { return &s.words[endedAt/8] }
