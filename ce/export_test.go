package ce

// PostReady writes, by a rank that is inside no call, a ready line of the next
// operation: what a damaged or hostile peer could write.
func (s *Stream) PostReady(to int, place, length uint64) {
	postReady(s.edges[to].readyOut, s.sequence+1, readyLine{place: place, length: length})
	s.team.RingAll()
}

// Ring is how the staging ring of one edge is cut.
func (s *Stream) Ring() (pieces, bytes int) { return s.pieces, s.piece }

// Staged as the place of a ready line.
const Staged = staged
