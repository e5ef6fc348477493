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

// ready is what one member tells another before an operation: as a receiver,
// where it wants the data; as a sender, where the data lies, if the receiver may
// read it there. What both choose the way by (route) stands in the two lines.
type ready struct {
	want   uint64 // offset in the own window: of the final place, or of the ring for this sender
	length uint64 // bytes it expects
	source uint64 // offset in the own window of what it sends, or nowhere
	at     uint64 // nowhere: address of what it sends in its process, or 0
	sends  uint64 // bytes it sends
	how    how
	reads  bool   // it can read private memory of the other
	steps  uint64 // of its batch
	load   uint64 // bytes it sends to others and expects of them
	own    uint64 // and bytes of its own part
	need   uint64 // where it refuses
	have   uint64
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

func (h how) refuses() bool { return h >= refusedShort }

// post stores r where its reader looks: {sequence 32 | digest 32} last, with
// release.
func (r *ready) post(to *[8]uint64, tag uint64) {
	// A refusal has need and have, what is none may have at and load; a batch has
	// steps, what is none may have own.
	at, load := r.at, r.load
	if r.how.refuses() {
		at, load = r.need, r.have
	}
	how := uint64(r.how)
	if r.reads {
		how |= readsBit
	}
	line.PublishRecord(to, &[8]uint64{r.want, r.length, r.source, r.sends, (r.steps|r.own)<<16 | how, at, load, tag})
}

const readsBit = 1 << 8

// read reads a line that has come.
func (r *ready) read(from *[8]uint64) {
	word := atomic.LoadUint64(&from[4])
	r.want = atomic.LoadUint64(&from[0])
	r.length = atomic.LoadUint64(&from[1])
	r.source = atomic.LoadUint64(&from[2])
	r.sends = atomic.LoadUint64(&from[3])
	r.how, r.reads, r.steps, r.own = how(word), word&readsBit != 0, word>>16, word>>16
	r.at, r.load = atomic.LoadUint64(&from[5]), atomic.LoadUint64(&from[6])
	r.need, r.have = 0, 0
	if r.how.refuses() {
		r.need, r.have, r.at, r.load = r.at, r.load, 0, 0
	}
}

// tagOf is the last word of a ready line: which operation of the stream it is
// for, and a digest of the call, so that a rank that calls something else is
// found by the first line that is read.
func tagOf(sequence uint64, c *symmem.Record) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(c.Op)<<40 ^ uint64(c.Engine)<<32 ^ uint64(uint32(c.EltSize))
	for _, v := range [...]uint64{c.Count, uint64(c.Root), c.Digest} {
		h = (h ^ h>>29 ^ v) * odd
	}
	return sequence<<32 | (h^h>>29)*odd>>32
}
