package window

import (
	"context"
	"errors"
	"fmt"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/symmem"
)

// Area is memory that a team's members share: a piece of the same length in each
// member's window, at an offset of that member's own. Engines keep their
// sessions' and streams' words and buffers in areas.
//
// Local, Peer and Size may be called concurrently, by whoever is inside an
// operation of the team or of a lane over it. They do not keep the region mapped
// beyond World.Close: an engine whose operations pass no lane calls World.Hold.
type Area struct {
	team   *symmem.Team
	call   symmem.Record // what opened it, the size in its digest
	size   int64
	off    int64    // in the own window
	taken  int64    // bytes, with what rounding added
	bytes  [][]byte // by team rank, bounded to the area
	closed bool
}

// OpenArea makes an area of size bytes in the window of every member of team.
// It is collective over the team and an operation of it. call says what it is
// opened for, as records show it: all members give the same call and the same
// size, else ErrMismatch naming the odd one. Different teams may open areas from
// different goroutines at the same time.
//
// The memory is zero, begins on a page and is the area's alone. If it is not to
// be had on some rank, all members return the same *symmem.NoSpaceError and the
// team goes on. Any other error after the call was published revokes the team.
func OpenArea(ctx context.Context, team *symmem.Team, call symmem.Record, size int64) (*Area, error) {
	if size < 0 || size >= tooLarge {
		return nil, fmt.Errorf("%w: an area of %d bytes", symmem.ErrUsage, size)
	}
	call.Digest = digest("area", int64(call.Digest), size)
	a := &Area{team: team, call: call, size: size, taken: pages(size)}
	if err := a.open(ctx); err != nil {
		return nil, fmt.Errorf("opening an area of %d bytes: %w", size, err)
	}
	return a, nil
}

func (a *Area) open(ctx context.Context) error {
	lane := a.team.Lane()
	if err := lane.Enter(ctx, &a.call); err != nil {
		return err
	}
	lane.Publish() // reserving may take long: peers shall see what this rank does
	h := heapOf(a.team.World())
	var mine vote
	var err error
	a.off, err = h.takeArea(a.taken)
	if err != nil && !errors.As(err, &mine.short) {
		return lane.Leave(err)
	}
	failpoint.Hit(failpoint.AreaTaken)
	mine.off = a.off
	posts, err := a.team.Exchange(ctx, mine.post())
	if err != nil {
		// The place stays taken: other members may have seen all votes, and be
		// writing here already.
		return lane.Leave(err)
	}
	short := verdict(a.team, posts)
	if short == nil {
		return lane.Leave(a.see(posts))
	}
	if mine.short == nil {
		err = h.giveArea(a.off, a.taken)
	}
	if err := lane.Leave(err); err != nil {
		return err
	}
	return short
}

// see takes the members' offsets over, none of them before it is checked.
func (a *Area) see(posts []symmem.Post) error {
	w := a.team.World()
	a.bytes = make([][]byte, len(posts))
	for r, p := range posts {
		b, err := Bytes(w, a.team.WorldRank(r), p[1], uint64(a.size))
		if err != nil {
			return err
		}
		if p[1]%uint64(pageBytes) != 0 {
			return fmt.Errorf("%w: rank %d opened its area at offset %#x, which is no page", symmem.ErrRegion, a.team.WorldRank(r), p[1])
		}
		a.bytes[r] = b
	}
	return nil
}

// Size is the length of each member's piece in bytes.
func (a *Area) Size() int64 { return a.size }

// Team is the team whose members share the area.
func (a *Area) Team() *symmem.Team { return a.team }

// Local is the own piece.
func (a *Area) Local() []byte { return a.bytes[a.team.Rank()] }

// Peer is the piece of the member with team rank r.
func (a *Area) Peer(r int) []byte { return a.bytes[r] }

// Close gives the memory back. It is collective over the team and an operation
// of it; it returns when every member has called it, so from then on nobody
// writes here. It is the last thing the members do with the area, before
// Team.Close, and may be skipped after an error: what a revoked team still had
// open stays taken until the world ends, since a member may not have heard yet.
func (a *Area) Close(ctx context.Context) error {
	if err := a.close(ctx); err != nil {
		return fmt.Errorf("closing an area of %d bytes: %w", a.size, err)
	}
	return nil
}

func (a *Area) close(ctx context.Context) error {
	if a.closed {
		return fmt.Errorf("this area is %w", symmem.ErrClosed)
	}
	lane := a.team.Lane()
	call := a.call
	call.Op = symmem.OpClose
	if err := lane.Enter(ctx, &call); err != nil {
		return err
	}
	a.closed = true
	_, err := a.team.Exchange(ctx, symmem.Post{})
	if err == nil {
		err = heapOf(a.team.World()).giveArea(a.off, a.taken)
	}
	return lane.Leave(err)
}

// Scratch is memory in this rank's own window that no other rank knows of, until
// it is told where: what a rank needs for itself in the middle of a collective,
// where there is no vote about it.
type Scratch struct {
	h     *heap
	off   int64
	taken int64
	bytes []byte
}

// TakeScratch takes size bytes at the upper end of the own window. They are zero
// and begin on a page. It is local and may be called from any goroutine inside a
// call of a lane; a want of space is a *symmem.NoSpaceError and takes nothing.
func TakeScratch(w *symmem.World, size int64) (*Scratch, error) {
	if size < 0 || size >= tooLarge {
		return nil, fmt.Errorf("%w: %d bytes", symmem.ErrUsage, size)
	}
	h, taken := heapOf(w), pages(size)
	off, err := h.takeArea(taken)
	if err != nil {
		return nil, err
	}
	return &Scratch{h: h, off: off, taken: taken, bytes: h.own()[off : off+size : off+size]}, nil
}

// Bytes is the memory.
func (s *Scratch) Bytes() []byte { return s.bytes }

// Offset is where it begins in the own window: what a peer may be told, who
// checks it with Bytes.
func (s *Scratch) Offset() uint64 { return uint64(s.off) }

// Give gives the memory back. The caller knows that no peer writes there any
// more.
func (s *Scratch) Give() error { return s.h.giveArea(s.off, s.taken) }
