package ce

import (
	"context"
	"fmt"

	"github.com/symwin/symwin/symmem"
)

// Folder makes one of what all members send: the arithmetic of a reduction.
type Folder interface {
	// Fold is called for one range after the other of what is folded: from[r]
	// is the bytes that begin at offset at of what member r sent here, the own
	// ones included, in rank order; all have the same length, whole elements.
	// They are the peers' own memory or the ring, and to be read only during
	// the call. It runs between waits, in the goroutine of the stream.
	Fold(at int, from [][]byte)
}

// Fold is Exchange in which what comes is not stored but handed to a Folder, in
// place, piece by piece and in rank order, as soon as it is there from everybody.
// It is the whole of Reduce and ReduceScatter, and the first half of AllReduce.
//
// Every member sends parts[r].Src to member r, and each sends this rank n bytes,
// this rank itself included; parts' Dst are not used. n may be 0, on ranks that
// have nothing to fold. call.EltSize says what is never cut. A Src in a window
// is read there by whoever folds it, without a copy.
//
// inPlace says that Fold writes over memory which is being sent to other members.
// Then Src is never read in place, and a range is folded only when it has been
// sent. Writing over a Src that goes to this rank alone needs no such care.
//
// Otherwise as Exchange. The result is undefined after an error.
func (s *Stream) Fold(ctx context.Context, call symmem.Record, parts []Part, n int, inPlace bool, f Folder) error {
	if len(parts) != len(s.edges) {
		return fmt.Errorf("%w: %d parts for a team of %d", symmem.ErrUsage, len(parts), len(s.edges))
	}
	own := len(parts[s.team.Rank()].Src)
	unit := max(call.EltSize, 1)
	if n < 0 || own != n || n%unit != 0 || unit > maxUnit {
		return fmt.Errorf("%w: this rank folds %d bytes in elements of %d (at most %d), and sends itself %d", symmem.ErrUsage, n, unit, maxUnit, own)
	}
	if n > 0 && f == nil {
		return fmt.Errorf("%w: no Folder", symmem.ErrUsage)
	}
	for r := range parts {
		if len(parts[r].Dst) != 0 {
			return fmt.Errorf("%w: a part of Fold has no Dst", symmem.ErrUsage)
		}
	}
	return s.call(ctx, &call, partsOf(parts), &operation{folder: f, unit: unit, length: n, inPlace: inPlace})
}

// maxUnit is the largest element: several go into the smallest piece.
const maxUnit = 64

// folding reports whether there is something left to fold.
func (s *Stream) folding() bool { return s.folded < s.toFold }

// foldOn folds the next range if all of it is there.
func (s *Stream) foldOn() bool {
	at := s.folded
	n := min(s.ring.pieceFor(s.toFold, s.unit), s.toFold-at)
	me := s.team.Rank()
	own, pulled := s.slices[me], false
	for r := range s.edges {
		if r == me {
			continue
		}
		e := &s.edges[r]
		if !e.settled {
			return false
		}
		if s.inPlace && !e.done && e.sentBytes() < at+n {
			return false
		}
		switch {
		case e.in == pull:
			s.slices[r], pulled = e.from[at:at+n], true
		case e.come() == 0:
			return false
		default:
			s.slices[r] = e.piece(n)
		}
	}
	s.slices[me] = own[at : at+n]
	s.folder.Fold(at, s.slices)
	s.slices[me] = own
	if pulled && s.givenUp() {
		return false // the wait finds out why; what was folded is undefined then
	}
	s.folded += n
	for r := range s.edges {
		if r == me {
			continue
		}
		switch e := &s.edges[r]; {
		case e.in == stage:
			e.take(n)
			e.receivedOne()
		case !s.folding():
			e.take(granule)
			e.read = true
		}
	}
	if !s.folding() {
		clear(s.slices)
	}
	return true
}
