package ce

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// way is how the bytes of one direction of an edge travel.
type way uint8

const (
	push  way = iota // the sender writes to the final place: one copy
	pull             // the receiver reads the source itself: one copy, or none
	share            // each of them a part: half a copy
	stage            // through the receiver's ring: two
)

// route chooses the way by the lines of sender and receiver, and by whether every
// rank has a CPU (shares), which all know alike. Both ends do, so they agree. cut is
// how many bytes the sender writes; the receiver reads the others.
func route(from, to *ready, shares bool) (w way, cut uint64) {
	n := from.sends
	placed, shown := to.how() == direct, from.source != nowhere
	open := shown || from.at() != 0 && to.reads()
	switch {
	case placed && open && from.length == 0 && shares:
		if cut = cutOf(from, to, shown); cut < n {
			return share, cut
		}
		return push, n
	case placed && shown && from.length == 0 && from.load() > to.load() && n >= pullLeast:
		return pull, 0
	case placed:
		return push, n
	case open:
		return pull, 0
	}
	return stage, n
}

// From so many bytes on an edge is shared that has one direction, between ranks
// with a CPU each, of which one would only wait: where the receiver reads a
// window, and where it has the kernel read. Two ranks, µs, all written by the
// sender / shared: a broadcast in windows of 64 KiB 2.6 / 1.8, of 1 MiB 84 / 25; a
// scatter out of private memory of 64 KiB 3.7 / 4.0, 256 KiB 16 / 11, 1 MiB 170 / 91.
const (
	shareLeast       = 16 << 10
	shareLeastKernel = 128 << 10
)

// pullLeast is from how many bytes on, where ranks share CPUs, receivers read what
// one sends to many, who would do it all on his one CPU. A broadcast in windows to
// eight on two CPUs, µs written / read: 64 KiB 29 / 37, 256 KiB 113 / 91.
const pullLeast = 128 << 10

// kernelCost is how many times as long the kernel's copies take.
const kernelCost = 2

// cutOf is what the sender writes of an edge, in whole pages, or all of it: so much
// that both ends have equally much to do, where each has its own part to copy, and
// does the same share of all its edges. Anything may stand in the peer's line.
func cutOf(from, to *ready, shown bool) uint64 {
	n, cost, least := from.sends, uint64(1), uint64(shareLeast)
	if !shown {
		cost, least = kernelCost, shareLeastKernel
	}
	if n < least {
		return n
	}
	// sender.own + x·sender.load = receiver.own + (1−x)·cost·receiver.load
	sends, receives := min(from.load(), maxLoad), cost*min(to.load(), maxLoad)
	part, all := to.own()+receives, sends+receives
	part -= min(from.own(), part)
	if part >= all || all == 0 {
		return n
	}
	hi, lo := bits.Mul64(n, part)
	cut, _ := bits.Div64(hi, lo, all)
	return cut &^ 4095
}

// maxLoad is more than any rank has.
const maxLoad = 1 << 48

// edge is what a stream has to do with one peer in one operation: something to
// send and something to receive, each of any length. The own rank's carries its own
// part from src to dst, and nothing else (own.go).
type edge struct {
	s    *Stream
	peer int

	readyIn, readyOut       *[8]uint64
	completeIn, completeOut *uint64
	creditIn, creditOut     *uint64
	card                    *[8]uint64 // the peer's (reach.go)
	reach                   attempt
	thread                  int // of the peer: the one whose memory is read, once any was

	mine, theirs ready // the lines of this operation
	heard        bool  // theirs has come
	settled      bool  // the ways are chosen

	// Of what is not shareable, and of what is: the last such exchange was not all
	// written by its senders (pair.go).
	astray [2]bool

	// Sending. src is what is left. sent counts pieces, ever: an operation has at
	// least one, an empty one if need be, since its count also says that the ready
	// line has been read and may be written again. owed is how many bytes of the
	// share were ever given to pieces; what the peer reads takes a granule, to be
	// told when it has been read.
	src      []byte
	out      way
	target   []byte // the final place, or this rank's share of the ring
	outPiece int
	sent     uint64
	owed     uint64
	offered  bool // the peer knows that it may read
	done     bool

	// Receiving. dst is what is left to be copied out; an operation that folds
	// has none. lies is where that is in the own window, or nowhere.
	dst      []byte
	lies     uint64
	in       way
	from     []byte // the peer's share of the ring, or its source, or
	fromAt   uint64 // where that lies in its private memory
	inPiece  int
	received uint64 // pieces, ever
	taken    uint64 // as owed, and taken out: the peer's credit
	coming   uint64 // pieces of this operation that have not been received
	read     bool   // pull, share: this rank's part has been read
	got      bool
}

// begin sets the edge up for one operation, that of src, dst and mine.
func (e *edge) begin() {
	e.heard, e.settled = false, false
	e.target, e.offered, e.done = nil, false, false
	e.from, e.fromAt, e.read, e.got = nil, 0, false, false
}

// hear reads the peer's ready line once it has come.
func (e *edge) hear() bool {
	if e.heard {
		return true
	}
	s := e.s
	tag := atomic.LoadUint64(&e.readyIn[7])
	switch ahead := int32(tag>>32) - int32(s.tag>>32); {
	case ahead < 0:
		return false
	case ahead > 0:
		s.fail(fmt.Errorf("%w: rank %d's ready line is for an operation that this rank has not begun", symmem.ErrRegion, e.worldRank()))
		return false
	case tag != s.tag:
		s.otherCall = true
		s.fail(symmem.ErrMismatch)
		return false
	}
	e.theirs.read(e.readyIn)
	if e.theirs.how() >= hows {
		s.fail(fmt.Errorf("%w: rank %d's ready line says %d", symmem.ErrRegion, e.worldRank(), e.theirs.how()))
		return false
	}
	if e.theirs.refuses() && (s.refuser < 0 || e.peer < s.refuser) {
		s.refuser, s.refused = e.peer, e.theirs
	}
	if e.reach == untried && e.theirs.at() != 0 {
		e.try()
	}
	e.heard = true
	return true
}

// settle chooses the ways of both directions by the two ready lines, and checks
// every number of the peer's before it is used.
func (e *edge) settle() error {
	e.settled = true
	if e.s.void || e.theirs.refuses() {
		e.src, e.out = nil, push
	} else if e.theirs.length != uint64(len(e.src)) {
		return fmt.Errorf("%w: rank %d expects %d bytes of rank %d, which sends %d", symmem.ErrMismatch,
			e.worldRank(), e.theirs.length, e.s.team.World().Rank(), len(e.src))
	} else {
		w, cut := route(&e.mine, &e.theirs, e.s.shares)
		if w == stage {
			cut = uint64(e.s.ring.share)
			e.outPiece = e.s.ring.pieceFor(len(e.src), e.s.unit)
		}
		e.out = w
		if w != pull {
			target, err := e.place(e.theirs.want, cut)
			if err != nil {
				return err
			}
			e.target = target
		}
	}
	e.coming = 1
	expects := e.mine.length
	if e.s.void || e.mine.refuses() {
		e.dst, e.in = nil, push
	} else if e.theirs.sends != expects {
		return fmt.Errorf("%w: rank %d sends %d bytes to rank %d, which expects %d", symmem.ErrMismatch,
			e.worldRank(), e.theirs.sends, e.s.team.World().Rank(), expects)
	} else {
		w, cut := route(&e.theirs, &e.mine, e.s.shares)
		e.in = w
		switch {
		case w == stage:
			_, e.from = e.s.shareOf(e.peer)
			e.inPiece = e.s.ring.pieceFor(int(expects), e.s.unit)
			e.coming = (expects + uint64(e.inPiece) - 1) / uint64(e.inPiece)
		case w == push:
		case e.theirs.source != nowhere:
			from, err := e.place(e.theirs.source, expects)
			if err != nil {
				return err
			}
			e.from = from[cut:]
		default:
			e.fromAt = e.theirs.at() + cut
		}
		if w == share {
			e.dst = e.dst[cut:]
		}
	}
	return nil
}

// settles is settle whose error ends the wait.
func (e *edge) settles() bool {
	err := e.settle()
	if err != nil {
		e.s.fail(err)
	}
	return err == nil
}

// place is n bytes of the peer's window, where its ready line says that they lie.
func (e *edge) place(off, n uint64) ([]byte, error) {
	b, err := window.Bytes(e.s.team.World(), e.worldRank(), off, n)
	if err != nil {
		return nil, fmt.Errorf("the ready line of rank %d: %w", e.worldRank(), err)
	}
	return b, nil
}

// worldRank is the peer as errors name it.
func (e *edge) worldRank() int { return e.s.team.WorldRank(e.peer) }

// advance does what can be done now, without waiting, and reports whether it did
// anything.
func (e *edge) advance() (moved bool) {
	if !e.settled && !(e.hear() && e.settles()) {
		return false
	}
	if !e.done {
		moved = e.send()
	}
	if !e.got && (e.s.folder == nil || e.in == push || e.read) {
		moved = e.receive() || moved
	}
	return moved
}

// owes reports whether the peer has yet to do something. If not, it may have left, while
// its share of a fold lies here and waits for another's.
func (e *edge) owes() bool { return !e.settled || !e.done || !e.got && e.come() < e.coming }

// onlyWaits reports whether all that is left is to hear that the peer has done its part.
func (e *edge) onlyWaits() bool {
	return e.settled && e.done && (e.in == push || e.read)
}

// over reports whether nothing is left to do, and then forgets the memory of the
// caller.
func (e *edge) over() bool {
	if !e.done || !e.got {
		return false
	}
	e.src, e.dst, e.target, e.from = nil, nil, nil, nil
	return true
}

// send sends a piece if the receiver has room for it.
func (e *edge) send() bool {
	switch e.out {
	case push:
		e.s.copies(e.target, e.src)
		e.done = true
	case pull, share: // the source stays held until it has been read
		if e.offered {
			e.done = e.credit() == e.owed
			return e.done
		}
		e.s.copies(e.target, e.src[:len(e.target)])
		_, e.owed = e.s.ring.place(e.owed, granule)
		e.offered = true
	case stage:
		n := min(len(e.src), e.outPiece)
		off, then := e.s.ring.place(e.owed, n)
		if then-e.credit() > uint64(e.s.ring.share) {
			return false
		}
		window.Copy(e.target[off:], e.src[:n])
		e.src, e.owed = e.src[n:], then
		e.done = len(e.src) == 0
	}
	e.announce()
	return true
}

// sentBytes is how far this operation's bytes have been sent.
func (e *edge) sentBytes() int { return int(e.mine.sends) - len(e.src) }

// credit is how much of what is owed the receiver has taken.
func (e *edge) credit() uint64 {
	c := atomic.LoadUint64(e.creditIn)
	if c > e.owed {
		e.s.fail(fmt.Errorf("%w: rank %d has taken %d bytes of %d", symmem.ErrRegion, e.worldRank(), c, e.owed))
		return e.owed
	}
	return c
}

// announce counts up what the peer reads: a release after the copy. If the peer
// sleeps it is woken at once. The look for that passes no barrier, which would
// wait for the copy's last stores, and may miss one that is just parking; the end
// of the operation, or the next wait, looks again behind one.
func (e *edge) announce() {
	e.sent++
	failpoint.Hit(failpoint.CopyDone)
	line.StoreRelease64(e.completeOut, e.sent)
	failpoint.Hit(failpoint.CopyComplete)
	e.s.team.Nudge(e.peer)
}

// come is how many pieces lie here that have not been received.
func (e *edge) come() uint64 {
	n := atomic.LoadUint64(e.completeIn) - e.received
	if n > e.coming {
		e.s.fail(fmt.Errorf("%w: rank %d announces %d pieces where %d are to come", symmem.ErrRegion, e.worldRank(), n, e.coming))
		return 0
	}
	return n
}

// receive takes a piece that has come.
func (e *edge) receive() bool {
	moved := false
	if (e.in == pull || e.in == share) && !e.read {
		if !e.fetch() {
			return false
		}
		e.take(granule)
		e.read, moved = true, true
	}
	if e.come() == 0 {
		return moved
	}
	if e.in == stage {
		n := min(len(e.dst), e.inPiece)
		e.s.alone(e.dst[:n], e.piece(n))
		e.dst = e.dst[n:]
		e.take(n)
	}
	e.receivedOne()
	return true
}

// fetch copies this rank's part of what the peer lets it read. false: the operation
// was given up meanwhile, perhaps by the peer, whose memory may be something else
// by then.
func (e *edge) fetch() bool {
	if e.fromAt != 0 {
		return e.fetchPrivate(e.dst, e.fromAt)
	}
	e.s.copies(e.dst, e.from)
	return !e.s.givenUp()
}

// givenUp reports whether a peer may have given the operation up while its memory was
// read: it says so before it returns to its program, which may write there again. The
// fence keeps what was read before the look.
func (s *Stream) givenUp() bool {
	line.LoadFence()
	return s.team.Ended()
}

func (e *edge) receivedOne() {
	e.received++
	e.coming--
	e.got = e.coming == 0
}

// piece is where the next staged piece, of n bytes, lies.
func (e *edge) piece(n int) []byte {
	off, _ := e.s.ring.place(e.taken, n)
	return e.from[off:][:n]
}

// take gives credit for a piece of n bytes: a release after the copy out.
func (e *edge) take(n int) {
	_, e.taken = e.s.ring.place(e.taken, n)
	line.StoreRelease64(e.creditOut, e.taken)
	e.s.team.Nudge(e.peer)
}
