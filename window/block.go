package window

import (
	"fmt"
	"sync/atomic"

	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
	shmsync "github.com/symwin/symwin/sync"
)

// block is one allocation of the symmetric heap, without its element type:
//
//	off                    off+signals
//	┌──────────────────────┬───────────────────────────┐
//	│ data, size bytes     │ one line per sender       │ up to whole pages
//	└──────────────────────┴───────────────────────────┘
//
// It lies at the same offset in every rank's window.
type block struct {
	heap *heap
	kind *kind
	n    int   // elements
	off  int64 // in every window
	size int64 // bytes of data
	// signals is where the lines begin, behind data: data is to begin on a page.
	signals int64
	taken   int64 // bytes in all, whole pages

	data [][]byte // by rank
	// in is the lines that others store into, one per sender; to the way to each
	// receiver.
	in []signalLine
	to []receiver

	// What every operation looks at, so that it is at hand.
	team    *symmem.Team
	eltSize int64
	// fenced: there are ranks that share CPUs, where all sleep often.
	fenced   bool
	wideMost int // below which PutSignal of wideLeast and more is line.Wide's; 0: none is

	freed  atomic.Bool
	handed atomic.Bool // Local or Peer gave out a slice
}

// receiver is what a signal to one rank needs: the own line in its window, what
// this rank has stored there, and its doorbell. A line has one writer, its sender,
// who therefore counts privately and never has to read it back. See Signal.
type receiver struct {
	rank int
	// line is a slice and no pointer to an array: of that Go would read a word, to see
	// that it is not nil, and so fetch the line from the receiver, who looks at it,
	// once more before every store (put, two ranks, 8 bytes: 82 ns one way, and 45).
	line []uint64
	sent signalLine
	// heard is what this rank had of the receiver's when it last asked for the line. As
	// sent, it is for one goroutine at a time an index.
	heard signalLine
	bell  *shmsync.Doorbell
}

const (
	lineBytes = 64
	pairBytes = 2 * lineBytes // processors fetch lines in pairs
)

// newBlock is a block of n elements that has no place yet.
func newBlock(h *heap, k *kind, n int) *block {
	b := &block{heap: h, kind: k, n: n, size: int64(n) * k.size}
	b.signals = (b.size + pairBytes - 1) &^ (pairBytes - 1)
	b.taken = pages(b.signals + int64(h.w.Size())*lineBytes)
	return b
}

// call is the record of a collective call about b.
func (b *block) call(op symmem.Op) symmem.Record {
	return symmem.Record{Op: op, EltSize: int(b.kind.size), Count: uint64(b.n),
		Digest: digest(b.kind.name, int64(b.heap.history), b.off, b.taken)}
}

// attach computes all addresses, once the place is agreed upon.
func (b *block) attach() {
	w := b.heap.w
	b.team, b.eltSize, b.fenced = w.Team(), b.kind.size, w.Crowded()
	if topo.AMD() >= topo.Zen5 {
		b.wideMost = wideMost
	}
	for r := range w.Size() {
		all := w.Window(r)[b.off : b.off+b.taken]
		b.data = append(b.data, all[:b.size:b.size])
		lines := signalLines(all[b.signals:], w.Size())
		b.to = append(b.to, receiver{rank: r, line: lines[w.Rank()][:], bell: b.team.Bell(r)})
		if r == w.Rank() {
			b.in = lines
		}
	}
}

// ErrFreed: the window, or one that a Span lies in, was freed. It is
// symmem.ErrClosed.
var ErrFreed = fmt.Errorf("the window was freed: it is %w", symmem.ErrClosed)

// usable reports why nothing may be done with b, or nil.
func (b *block) usable() error {
	if b.freed.Load() {
		return ErrFreed
	}
	return b.heap.w.Team().Usable()
}

func (b *block) checkRank(r int) error {
	if uint(r) >= uint(len(b.data)) {
		return fmt.Errorf("%w: there is no rank %d among %d", symmem.ErrUsage, r, len(b.data))
	}
	return nil
}

// inside reports whether elements off to off+n are b's. n is compared with what
// is left, so neither a sum nor, afterwards, a product can overflow.
func (b *block) inside(off, n int) bool {
	return off >= 0 && n >= 0 && off <= b.n && n <= b.n-off
}

func (b *block) errOutside(off, n int) error {
	return fmt.Errorf("%w: %d elements at %d of a window of %d", symmem.ErrUsage, n, off, b.n)
}

// span is elements off to off+n as bytes of the block.
func (b *block) span(off, n int) Span {
	if !b.inside(off, n) {
		return Span{err: b.errOutside(off, n)}
	}
	return Span{b: b, off: int64(off) * b.kind.size, size: int64(n) * b.kind.size}
}

// reach is elements off to off+n on rank r, for an operation that begins.
func (b *block) reach(r, off, n int) ([]byte, error) {
	if b.freed.Load() || b.team.Ended() || uint(r) >= uint(len(b.data)) || !b.inside(off, n) {
		return nil, b.refusal(r, off, n)
	}
	at := int64(off) * b.eltSize
	return b.data[r][at : at+int64(n)*b.eltSize], nil
}

// refusal is why an operation that began was refused.
func (b *block) refusal(r, off, n int) error {
	err := b.usable()
	if err == nil {
		err = b.checkRank(r)
	}
	if err == nil && !b.inside(off, n) {
		err = b.errOutside(off, n)
	}
	return err
}
