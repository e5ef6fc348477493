package ce

import "github.com/symwin/symwin/internal/failpoint"

// startOwn copies the first piece of the own part, if this rank is to have it.
func (s *Stream) startOwn(op *operation) {
	src, dst := s.own.Src, s.own.Dst
	s.own.Src, s.own.Dst = nil, nil
	if op.folder != nil || s.void || s.refuser == s.team.Rank() || sameStart(dst, src) {
		return
	}
	if s.ownDst, s.ownSrc = dst, src; len(src) > 0 {
		s.copyOwn()
	}
}

// ownPiece is how much of the own part is copied between two looks at the peers, of a
// short one half, but no less than ownLeast, so that some is left for the end (two ranks,
// Zen 5, all-to-all of 8 KiB: 0.292 and 0.285 µs, of 16 KiB 0.396 and 0.384); and ownRest
// where no look can find anything to do (64 KiB 1.45 and 1.40 µs, 128 KiB 2.69 and 2.54).
const (
	ownLeast = 4 << 10
	ownPiece = 16 << 10
	ownRest  = 256 << 10
)

// copyOwn copies some of the own part. It is what a member does while it would
// otherwise wait: behind its invitations, while the others' travel, and behind
// its last copy, while the news of it and of theirs travel.
func (s *Stream) copyOwn() {
	n := len(s.ownSrc)
	if s.onlyWaits() {
		n = min(n, max(ownRest, n/8))
	} else {
		n = min(n, max(ownPiece, n/8), max(ownLeast, n/2&^63))
	}
	s.copy(s.ownDst[:n], s.ownSrc[:n])
	failpoint.Hit(failpoint.CopyHalf)
	if s.ownDst, s.ownSrc = s.ownDst[n:], s.ownSrc[n:]; len(s.ownSrc) == 0 {
		s.ownDst, s.ownSrc = nil, nil // and not the end of them: it is forgotten
	}
}

// onlyWaits reports whether this rank has done all that others wait for.
func (s *Stream) onlyWaits() bool {
	for _, r := range s.open {
		if !s.edges[r].onlyWaits() {
			return false
		}
	}
	return true
}
