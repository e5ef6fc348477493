package ce

import (
	"context"
	"fmt"

	"github.com/symwin/symwin/symmem"
	shmsync "github.com/symwin/symwin/sync"
	"github.com/symwin/symwin/window"
)

// Stream is an ordered queue of copy operations of one team. Operations are
// collective: every member makes the same ones in the same order. They are calls
// of the team's lane, so one at a time per team.
type Stream struct {
	team *symmem.Team
	area *window.Area

	sequence uint64 // operations so far
	piece    int    // bytes of a staged piece
	pieces   int    // pieces in the ring of one edge

	edges []edge         // by member; the own rank's is unused
	all   *shmsync.Flags // every member's ready line has come
	open  []int          // members with something left to do in this operation
	fatal error          // a peer's number that cannot be

	closed bool
}

// Options of a stream. The zero value is a good one.
type Options struct {
	// Staging is the bytes of staging ring per member, 0 for 4 MiB: twice a
	// common L2. A smaller ring is the slow way, since every line of it must be
	// taken back from the other core's cache. At most an eighth of the window.
	Staging int64
}

const (
	defaultStaging = 4 << 20
	minPiece       = 1 << 10
	maxPiece       = 32 << 10
	piecesAtLeast  = 4 // so that copying in and copying out go on side by side
)

// Open makes a stream. It is collective over team. Errors: ErrNoSpace on all
// members, ErrMismatch.
func Open(ctx context.Context, team *symmem.Team, o Options) (*Stream, error) {
	s, err := OpenFor(ctx, team, symmem.Record{Op: symmem.OpOpen, Engine: symmem.EngineCE}, o)
	if err != nil {
		return nil, fmt.Errorf("ce.Open: %w", err)
	}
	return s, nil
}

// OpenFor is Open as a part of call, which is what records show.
func OpenFor(ctx context.Context, team *symmem.Team, call symmem.Record, o Options) (*Stream, error) {
	n := team.Size()
	if o.Staging == 0 {
		o.Staging = defaultStaging
	}
	o.Staging = min(o.Staging, team.World().Geometry().Window/8)
	if o.Staging < 0 {
		return nil, fmt.Errorf("%w: staging of %d bytes", symmem.ErrUsage, o.Staging)
	}
	ring := int(o.Staging) / max(n-1, 1)
	piece := min(max(ring/piecesAtLeast, minPiece), maxPiece) &^ 63
	s := &Stream{team: team, piece: piece, pieces: max(ring/piece, piecesAtLeast)}

	flags := kinds * n * lineWords * 8
	area, err := window.OpenArea(ctx, team, call, int64(flags)+int64(n-1)*int64(s.pieces)*int64(piece))
	if err != nil {
		return nil, err
	}
	s.area = area
	me := team.Rank()
	mine := wordsOf(area.Local()[:flags])
	sequences := make([]*uint64, n)
	s.edges = make([]edge, n)
	for r := range s.edges {
		theirs := wordsOf(area.Peer(r)[:flags])
		s.edges[r] = edge{
			s: s, peer: r,
			readyIn: mine.line(kindReady, n, r), readyOut: theirs.line(kindReady, n, me),
			completeIn: &mine.line(kindComplete, n, r)[0], completeOut: &theirs.line(kindComplete, n, me)[0],
			creditIn: &mine.line(kindCredit, n, r)[0], creditOut: &theirs.line(kindCredit, n, me)[0],
		}
		if r != me {
			s.edges[r].ringIn = area.Local()[flags+ringOf(r, me)*s.pieces*piece:][:s.pieces*piece]
			s.edges[r].ringOut = area.Peer(r)[flags+ringOf(me, r)*s.pieces*piece:][:s.pieces*piece]
			sequences[r] = &s.edges[r].readyIn[lineWords-1]
		}
	}
	s.all = shmsync.NewFlags(sequences, me+1)
	return s, nil
}

// Close ends the stream and gives its memory back. It is collective over the
// team, and waits for nothing but the members. A second Close does nothing; other
// calls on a closed stream return symmem.ErrClosed.
func (s *Stream) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	if err := s.area.Close(ctx); err != nil {
		return fmt.Errorf("ce.Close: %w", err)
	}
	s.closed = true
	return nil
}

// usable is the look on entry that the lane does not know to make: the memory of
// a closed stream belongs to somebody else.
func (s *Stream) usable() error {
	if s.closed {
		return fmt.Errorf("this stream is %w", symmem.ErrClosed)
	}
	return nil
}
