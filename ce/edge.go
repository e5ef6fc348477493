package ce

import (
	"fmt"
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// edge is what a stream has to do with one peer in one operation: something to
// send and something to receive, each of any length.
type edge struct {
	s    *Stream
	peer int

	readyIn, readyOut       []uint64
	completeIn, completeOut *uint64
	creditIn, creditOut     *uint64
	ringIn, ringOut         []byte

	// Sending. src is what is left; sent counts pieces, ever. An operation has
	// at least one piece, an empty one if need be: its count also says that the
	// ready line has been read and may be written again.
	src    []byte
	ready  bool // the ready line has come
	zcopy  bool // the receiver wants it in target, the final place
	target []byte
	sent   uint64
	done   bool

	// Receiving. dst is what is left to copy out; direct: the sender writes to
	// the final place itself, in one piece.
	dst      []byte
	direct   bool
	received uint64
	got      bool
}

// begin sets the edge up for one operation and invites the peer.
func (e *edge) begin(sequence uint64, src, dst []byte, place uint64, refuse readyLine) {
	e.src, e.target, e.ready, e.zcopy, e.done = src, nil, false, false, false
	e.dst, e.direct, e.got = dst, place != staged, false
	r := refuse
	r.place, r.length = place, uint64(len(dst))
	postReady(e.readyOut, sequence, r)
}

// advance does what can be done now, without waiting, and reports whether it did
// anything.
func (e *edge) advance() (moved bool) {
	if !e.done {
		moved = e.send()
	}
	if !e.got {
		moved = e.receive() || moved
	}
	return moved
}

// over reports whether nothing is left to do, and then forgets the memory of the
// caller.
func (e *edge) over() bool {
	if !e.done || !e.got {
		return false
	}
	e.src, e.dst, e.target = nil, nil, nil
	return true
}

// send copies what the receiver has room for.
func (e *edge) send() bool {
	if !e.ready {
		r, ok := readReady(e.readyIn, e.s.sequence)
		if !ok {
			return false
		}
		if !e.accept(r) {
			return false
		}
	}
	if e.zcopy {
		window.Copy(e.target, e.src)
		e.announce()
		e.done = true
		return true
	}
	moved := false
	for !e.done && e.sent-atomic.LoadUint64(e.creditIn) < uint64(e.s.pieces) {
		n := min(len(e.src), e.s.piece)
		copy(e.slot(e.ringOut, e.sent), e.src[:n])
		e.src = e.src[n:]
		e.announce()
		e.done, moved = len(e.src) == 0, true
	}
	return moved
}

// accept checks the receiver's ready line and takes its place.
func (e *edge) accept(r readyLine) bool {
	if r.length != uint64(len(e.src)) {
		e.s.fatal = fmt.Errorf("%w: rank %d expects %d bytes of this rank, which sends %d",
			symmem.ErrMismatch, e.s.team.WorldRank(e.peer), r.length, len(e.src))
		return false
	}
	if r.place != staged {
		target, err := window.Bytes(e.s.team.World(), e.s.team.WorldRank(e.peer), r.place, r.length)
		if err != nil {
			e.s.fatal = fmt.Errorf("the ready line of rank %d: %w", e.s.team.WorldRank(e.peer), err)
			return false
		}
		e.target, e.zcopy = target, true
	}
	e.ready = true
	return true
}

// announce counts up what the peer reads: a release after the copy.
func (e *edge) announce() {
	e.sent++
	line.StoreRelease64(e.completeOut, e.sent)
	e.s.team.Ring(e.peer)
}

// receive copies out what has come.
func (e *edge) receive() bool {
	moved := false
	for come := atomic.LoadUint64(e.completeIn); !e.got && e.received < come; moved = true {
		if e.direct {
			e.dst = nil
		} else {
			n := min(len(e.dst), e.s.piece)
			copy(e.dst[:n], e.slot(e.ringIn, e.received))
			e.dst = e.dst[n:]
		}
		e.received++
		line.StoreRelease64(e.creditOut, e.received)
		e.got = len(e.dst) == 0
		if !e.direct {
			e.s.team.Ring(e.peer)
		}
	}
	return moved
}

// slot is the ring's place for piece k.
func (e *edge) slot(ring []byte, k uint64) []byte {
	at := int(k%uint64(e.s.pieces)) * e.s.piece
	return ring[at : at+e.s.piece]
}
