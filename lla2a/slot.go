package lla2a

import (
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/window"
)

// A slot holds one block of bytes, in one or more cache lines. Its first line is
// slotHead: the tag of the epoch that the block is of, the head that says which
// call it belongs to, and the first 48 bytes of the block; the rest of the block
// follows behind it, so the block lies in one piece.
//
// One writer, who stores block and head plainly and then the tag with release;
// its readers load the tag with acquire and touch the rest only if it is the tag
// they wait for. That is right on amd64, where stores become visible in program
// order and loads happen in it, whatever copy uses for the bytes: the stores of a
// string instruction may change places among each other, but a store behind the
// instruction is not seen before them. A vector store of a line is not promised to
// be seen whole, but it need not be, and no byte that is ever a tag is part of a
// block. On arm64 the release (STLR) is not seen before anything stored earlier,
// and nothing behind the acquire (LDAR) is done before it. The race detector sees
// the same pair and checks the rest: all other accesses are plain.
//
// So one line carries a block of up to 48 bytes, and what is beyond takes a line
// for every 64. Shapes with a tag in every line, packed and unpacked by vector
// instructions, were no faster from 2 KiB on, and below by no more than the
// measurement wavers (two ranks, AllToAll in C, ns, medians of 22 to 24 pieces
// in turns, one line each way 130; 16-byte lines of 8 bytes, 64-byte lines of 56
// bytes in AVX2 and in AVX-512, this one, and one with the flag in a line before):
//
//	bytes      8    48    64   256   512    1K    2K    4K    8K   16K
//	16-byte  148   185   184   324   403   554  1291  2570  3520  6287
//	AVX2     131   133   153   242   315   438   702  1352  2179  3874
//	AVX-512  134   137   145   236   322   488   710  1423  2371  4006
//	slot     133   144   151   257   331   453   691  1345  1996  3719
//	flag     140   141   142   242   310   499   694  1289  1845  3569
type slotHead struct {
	tag   uint64
	head  uint64
	block [smallBlock]byte
}

const (
	slotLine   = 64 // bytes of a slot's line
	smallBlock = 48 // of a block, in its first line
	slotBefore = slotLine - smallBlock
)

// slots is one member's memory of Blocks, as lines and as bytes.
type slots struct {
	lines []slotHead
	bytes []byte
}

// put stores block p of a call into the slot that begins at line l. What shares
// no line with the tag comes first: the receiver is looking at that line, and
// would take it away in the middle.
func (s slots) put(l int, head, tag uint64, p []byte) {
	at := &s.lines[l]
	if len(p) > smallBlock {
		window.Copy(s.bytes[(l+1)*slotLine:], p[smallBlock:]) // blind
		p = p[:smallBlock]
	}
	copy(at.block[:], p) // blind
	at.head = head       // blind
	failpoint.Hit(failpoint.SendHalf)
	line.StoreRelease64(&at.tag, tag) // blind
}

// putTwo is put of a block that is p, and q behind it.
func (s slots) putTwo(l int, head, tag uint64, p, q []byte) {
	if len(p) == 0 {
		p, q = q, nil
	}
	if len(q) > 0 {
		at := s.bytes[l*slotLine+slotBefore+len(p):]
		near := min(max(smallBlock-len(p), 0), len(q)) // what of q shares the tag's line
		window.Copy(at[near:], q[near:])               // blind
		copy(at, q[:near])                             // blind
	}
	s.put(l, head, tag, p)
}

// has reports whether the slot holds the block of the epoch with this tag. If it
// does, head and block may be read.
func (s slots) has(l int, tag uint64) bool { return atomic.LoadUint64(&s.lines[l].tag) == tag }

// take begins to fetch so many bytes from line l on, to write them soon.
func (s slots) take(l, bytes int) { line.TakeLines(&s.lines[l].tag, bytes) }

// fetch begins to fetch so many bytes from line l on, to read them soon.
func (s slots) fetch(l, bytes int) { line.FetchLines(&s.lines[l].tag, bytes) }

// head says which call the block in the slot belongs to.
func (s slots) head(l int) uint64 { return s.lines[l].head }

// block is the block in the slot, size bytes.
func (s slots) block(l, size int) []byte { return s.bytes[l*slotLine+slotBefore:][:size:size] }

// clear makes the slot one that was never written.
func (s slots) clear(l int) { atomic.StoreUint64(&s.lines[l].tag, 0) }

// ended is how many epochs the member has ended: a word in a line of its own.
func (s slots) ended() *uint64 { return &s.lines[0].tag }
