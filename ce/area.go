package ce

import (
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
)

// A rank's area of a stream, for a team of n, in lines of 128 bytes (processors
// fetch lines in pairs):
//
//	n  ready[p]     written by p: what it wants of this rank, and what it has for it
//	n  complete[p]  written by p: pieces it has sent here, ever; behind it its card (reach.go)
//	n  credit[p]    written by p: of this rank's pieces those it has taken, ever
//	1  record       written by this rank: its latest call, for a stream with a lane of its own
//
// One writer and one reader per line, the record aside, which all may read.
// Counters only grow; readers compare with ≥. A store that announces data is a
// release after the copy; its load an acquire before the copy out. A credit is a
// release after the copy out, so the sender's next copy into the place comes
// after it. On amd64 these are plain stores and loads, on arm64 STLR and LDAR.
//
// Why two words and not one: a ready line is a message, not a count. It may be
// written again only when its reader is done with it, and that is what complete
// says: whoever has complete k of p knows that p has read ready k.
const (
	lineWords = 16
	lineBytes = 8 * lineWords
)

const (
	kindReady = iota
	kindComplete
	kindCredit
	kinds
)

// areaBytes is the size of an area for a team of n.
func areaBytes(n int) int64 { return int64(kinds*n+1) * lineBytes }

// area is an area as words.
type area []uint64

func (a area) at(i int) *[8]uint64 { return (*[8]uint64)(a[i*lineWords:]) }

func (a area) line(kind, n, p int) *[8]uint64 { return a.at(kind*n + p) }

func (a area) record(n int) *[8]uint64 { return a.at(kinds * n) }

// ready is what one member tells another before an operation, as it lies in its line: as
// a receiver, where it wants the data; as a sender, where the data lies, if the receiver
// may read it there. What both choose the way by (route) stands in the two lines.
type ready struct {
	want       uint64 // offset in the own window: of the final place, or of the ring for this sender
	length     uint64 // bytes it expects
	source     uint64 // offset in the own window of what it sends, or nowhere
	sends      uint64 // bytes it sends
	kind       uint64 // how, reads, and own or steps
	atOrNeed   uint64 // need of who refuses
	loadOrHave uint64 // have of who refuses
	tag        uint64 // {sequence 32 | digest 32}; of one that was read, none
}

// nowhere as a source: in private memory.
const nowhere = ^uint64(0)

// how a receiver wants its data, or why it wants none.
type how uint8

const (
	direct        how = iota // at want, in its window
	staged                   // in the ring at want, unless it can read the source itself
	refusedShort             // its destination is too short
	refusedWindow            // no room for staging in its window
	refusedMemory            // no memory for it
	hows
)

// refusing is a line that refuses.
func refusing(h how, need, have int64) ready {
	return ready{kind: kindOf(h, false, 0), atOrNeed: uint64(need), loadOrHave: uint64(have)}
}

// kindOf is a ready line's kind; counted is its own, or its steps.
func kindOf(h how, reads bool, counted uint64) uint64 {
	kind := counted<<countedFrom | uint64(h)
	if reads {
		kind |= readsBit
	}
	return kind
}

const (
	readsBit    = 1 << 8
	countedFrom = 16
)

func (r *ready) how() how      { return how(r.kind) } // the lowest byte
func (r *ready) refuses() bool { return r.how() >= refusedShort }

// reads: it can read private memory of the other.
func (r *ready) reads() bool { return r.kind&readsBit != 0 }

// own is the bytes of its own part.
func (r *ready) own() uint64 { return r.kind >> countedFrom }

// steps are those of its batch, which has no own part.
func (r *ready) steps() uint64 { return r.kind >> countedFrom }

// at is where what it sends lies in its process, if that is nowhere in its window and may
// be read, else 0.
func (r *ready) at() uint64 { return r.unlessRefused(r.atOrNeed) }

// load is the bytes it sends to others and expects of them.
func (r *ready) load() uint64 { return r.unlessRefused(r.loadOrHave) }

// need and have are those of who refuses.
func (r *ready) need() uint64 { return r.atOrNeed }
func (r *ready) have() uint64 { return r.loadOrHave }

func (r *ready) unlessRefused(v uint64) uint64 {
	if r.refuses() {
		return 0
	}
	return v
}

// post stores r where its reader looks: the tag last, with release.
func (r *ready) post(to *[8]uint64, tag uint64) {
	r.tag = tag
	line.PublishRecord(to, r.words())
}

// read reads a line whose tag has come.
func (r *ready) read(from *[8]uint64) {
	r.want = atomic.LoadUint64(&from[0])
	r.length = atomic.LoadUint64(&from[1])
	r.source = atomic.LoadUint64(&from[2])
	r.sends = atomic.LoadUint64(&from[3])
	r.kind = atomic.LoadUint64(&from[4])
	r.atOrNeed = atomic.LoadUint64(&from[5])
	r.loadOrHave = atomic.LoadUint64(&from[6])
}

// tagOf is the last word of a ready line: which operation of the stream it is
// for, and a digest of the call, so that a rank that calls something else is
// found by the first line that is read. The products wait for nothing but their fields.
func tagOf(sequence uint64, c *symmem.Record) uint64 {
	h := uint64(c.Op)<<40 ^ uint64(c.Engine)<<32 ^ uint64(uint32(c.EltSize))
	h ^= c.Count*0xc2b2ae3d27d4eb4f ^ uint64(c.Root)*0x94d049bb133111eb ^ c.Digest*0xff51afd7ed558ccd
	return sequence<<32 | (h^h>>29)*0x9e3779b97f4a7c15>>32
}
