package ce

import "github.com/symwin/symwin/internal/failpoint"

// startOwn copies the first piece of the own part, unless it is not to be moved.
func (s *Stream) startOwn(op *operation) {
	own := s.own
	if s.ownEnd = len(own.src); op.folder != nil || s.void || sameStart(own.dst, own.src) {
		s.ownEnd = 0
	}
	if s.ownLeft() && s.ownAt == 0 {
		s.copyOwn(ownBetween(s.ownEnd))
	} else if !s.ownLeft() {
		own.src, own.dst = nil, nil
	}
}

// ownLeft reports whether something of the own part has yet to be copied.
func (s *Stream) ownLeft() bool { return s.ownAt < s.ownEnd }

// ownPiece is how much of the own part is copied between two looks at the peers, of a
// short one half, but no less than ownLeast, so that some is left for the end (two ranks,
// Zen 5, all-to-all of 8 KiB: 0.292 and 0.285 µs, of 16 KiB 0.396 and 0.384); and ownRest
// where no look can find anything to do (64 KiB 1.45 and 1.40 µs, 128 KiB 2.69 and 2.54).
const (
	ownLeast = 4 << 10
	ownPiece = 16 << 10
	ownRest  = 256 << 10
)

// ownBetween is how much that is, of what is left.
func ownBetween(left int) int { return min(max(ownPiece, left/8), max(ownLeast, left/2&^63)) }

// nextOfOwn is how much to copy next, if no look at the peers finds anything to do.
func (s *Stream) nextOfOwn() int {
	left := s.ownEnd - s.ownAt
	if s.onlyWaits() {
		return max(ownRest, left/8)
	}
	return ownBetween(left)
}

// copyOwn copies some of the own part, so much at most. It is what a member does while it
// would otherwise wait: behind its invitations, while the others' travel, and behind
// its last copy, while the news of it and of theirs travel.
func (s *Stream) copyOwn(most int) {
	own, at := s.own, s.ownAt
	n := min(most, s.ownEnd-at)
	s.copies(own.dst[at:at+n], own.src[at:at+n])
	failpoint.Hit(failpoint.CopyHalf)
	if s.ownAt = at + n; !s.ownLeft() {
		own.src, own.dst = nil, nil // they are forgotten
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
