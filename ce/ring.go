package ce

import (
	"errors"
	"strings"

	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// ring is this rank's staging: one piece of its window, taken when an operation
// first needs it, and divided evenly among the members that send. Each sender's
// share is filled from its beginning to its end and then again: a buffer that
// both sides touch in every operation is the slow way from 8 KiB up, since each
// of its lines must be taken back from the other core; over twice the L2 they
// have left it by themselves.
//
// A share has one writer, its sender, who is told where it lies by the ready
// line. Both ends count the bytes that were ever given to pieces (place), so they
// agree where each piece lies; the receiver's count of what it has taken is the
// sender's credit.
type ring struct {
	share  int // bytes of one sender
	memory *window.Scratch
}

const (
	minShare = 4 << 10
	// A message that is short travels in one piece, since each costs two lines;
	// a longer one in two or more, so that copying in and copying out go on side
	// by side. Two ranks, private memory, µs an AllToAll in 1 / 2 / 4 pieces:
	// 4 KiB 2.0 / 2.4 / 3.0, 16 KiB 3.8 / 4.6 / 5.1, 64 KiB 11.6 / 12.0 / 12.0.
	onePiece      = 16 << 10
	maxPiece      = 64 << 10
	piecesOfShare = 4
	granule       = 64 // a piece begins on a line
)

// stagingFor is the staging of a member of a team of n by default. What is right
// depends on the caches. Zen 4 wants a ring of twice the L2: in a smaller one each
// line must be taken back from the other core, at 7 to 9 GB/s. On Cascade Lake,
// whose shared cache keeps what the own ones throw out, that is as fast as to take
// it from there, and a small ring leaves the own cache to the data (private
// memory, µs by the bytes of the ring; 2 ranks with 64 KiB / 192 KiB / 512 KiB /
// 2 MiB: messages of 64 KiB 10.4 / 9.7 / 9.9 / 13, of 256 KiB 54 / 53 / 58 / 75,
// of 1 MiB 292 / 276 / 277 / 350; 8 ranks on 2 CPUs with 256 KiB / 512 KiB / 2 MiB:
// 64 KiB 437 / 408 / 520).
func stagingFor(n int) int64 {
	if topo.AMD() > 0 {
		return 2 * topo.L2()
	}
	return min(int64(max(n-1, 1))*smallShare, topo.L2()/2)
}

const smallShare = 192 << 10

// ringFor cuts staging bytes among the others of a team of n.
func ringFor(staging int64, n int) ring {
	return ring{share: max(int(staging)/max(n-1, 1), minShare) &^ (granule - 1)}
}

// pieceFor is how much of a message of n bytes, in elements of unit bytes,
// travels at once. Both ends know n.
func (r *ring) pieceFor(n, unit int) int {
	piece := n
	if n > onePiece {
		piece = min(max(n/2, onePiece), maxPiece)
	}
	piece = (min(piece, r.share/piecesOfShare) + granule - 1) &^ (granule - 1)
	if unit > 1 {
		piece = max(piece-piece%unit, unit)
	}
	return piece
}

// place gives the next piece of n bytes its place in a share of which used bytes
// were ever given out: what does not fit before the end begins at the beginning.
func (r *ring) place(used uint64, n int) (off int, then uint64) {
	n = (n + granule - 1) &^ (granule - 1)
	off = int(used % uint64(r.share))
	if off+n > r.share {
		used += uint64(r.share - off)
		off = 0
	}
	return off, used + uint64(n)
}

// Staging is the bytes of its window that each member gives to staging, once an
// operation has needed it.
func (s *Stream) Staging() int64 { return int64(s.team.Size()-1) * int64(s.ring.share) }

// stage takes the memory if it has not been taken.
func (s *Stream) stage() error {
	if s.ring.memory != nil {
		return nil
	}
	memory, err := window.TakeScratch(s.team.World(), s.Staging())
	if err == nil {
		s.ring.memory = memory
	}
	return err
}

// shareOf is where sender p's part of the ring lies in the own window.
func (s *Stream) shareOf(p int) (offset uint64, bytes []byte) {
	if p > s.team.Rank() {
		p--
	}
	at := p * s.ring.share
	return s.ring.memory.Offset() + uint64(at), s.ring.memory.Bytes()[at:][:s.ring.share]
}

// refuseSpace is the ready line of a receiver that has no room for staging.
func refuseSpace(err error) (ready, bool) {
	var e *symmem.NoSpaceError
	if !errors.As(err, &e) {
		return ready{}, false
	}
	how := refusedWindow
	if strings.HasPrefix(e.Where, "/") {
		how = refusedMemory
	}
	return refusing(how, e.Need, e.Have), true
}

// refusal is the error that all members return: of the first one that refused.
func (s *Stream) refusal() error {
	p, r := s.refuser, &s.refused
	switch r.how() {
	case refusedShort:
		return &symmem.TooShortError{Rank: p, Need: int(r.need()), Have: int(r.have())}
	case refusedWindow:
		return &symmem.NoSpaceError{Rank: s.team.WorldRank(p), Need: int64(r.need()), Have: int64(r.have()), Where: "the window (--window)"}
	}
	return &symmem.NoSpaceError{Rank: s.team.WorldRank(p), Need: int64(r.need()), Have: int64(r.have()), Where: "/dev/shm"}
}
