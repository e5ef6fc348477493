package ce

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
	shmsync "github.com/symwin/symwin/sync"
	"github.com/symwin/symwin/window"
)

// ErrViewsHeld: both halves are still being looked at by this rank: Release one
// first. It is symmem.ErrUsage.
var ErrViewsHeld = fmt.Errorf("two sets of views are held, and there are only two halves; release one first: %w", symmem.ErrUsage)

// Views is an exchange without a copy: each member fills a buffer that lies in
// its window, and the others look into it.
//
//	b, err := v.Buffer(ctx)     // once all members have released what was there
//	… fill b: block r is for member r …
//	seen, err := v.Exchange(ctx)
//	… read seen.From(r) …
//	seen.Release()
//
// There are two halves, so a member may fill one while others still look at the
// other. MPI programs do this by hand with MPI_Win_allocate_shared.
//
// One goroutine at a time; Release may be called from any.
type Views[T any] struct {
	team  *symmem.Team
	lane  *symmem.Lane
	area  *window.Area
	block int // elements for one member

	round  uint64   // exchanges so far
	filled bool     // Buffer has given out the half of round+1
	halves [2][][]T // by round's parity, by member: what it has for this rank
	own    [2][]T   // by round's parity: the own buffer
	seen   [2]Seen[T]
	ready  *shmsync.Flags // the others' rounds
	free   *shmsync.Flags // the others' released rounds of one half, by parity
	frees  [2][]*uint64
	out    []*uint64    // the own round, in each member's area
	gone   [2][]*uint64 // the own released round, by parity, in each member's area
	watch  *symmem.Watch
	closed bool
}

// Seen is what the members gave in one exchange. It belongs to the Views, and is
// valid until Release.
type Seen[T any] struct {
	v    *Views[T]
	half int
	held atomic.Uint64 // the round that is being looked at; 0: none
}

// Words of a member's area, in lines of 128 bytes, then the two halves:
//
//	n  round[p]        written by p: exchanges it has come to
//	n  released[0][p]  written by p: its latest exchange of even number that it has released
//	n  released[1][p]  and of odd number
//	1  record
//
// Counters only grow. round is a release after the buffer was filled, its load an
// acquire before it is read; released is a release after the last read, its load
// an acquire before the buffer is filled again.
const viewKinds = 3

// OpenViews makes views with blocks of so many elements for each member. It is
// collective over team, with the same block and a T of the same size. It takes
// 2·Size·block elements of every member's window. Errors: ErrUsage; ErrNoSpace on
// all members; ErrMismatch.
func OpenViews[T any](ctx context.Context, team *symmem.Team, block int) (*Views[T], error) {
	if err := window.CheckType[T](); err != nil {
		return nil, fmt.Errorf("ce.OpenViews: %w", err)
	}
	n, me, size := team.Size(), team.Rank(), window.SizeOf[T]()
	most := team.World().Geometry().Window
	if block < 0 || int64(block) > most/int64(max(size, 1))/int64(n) {
		return nil, fmt.Errorf("ce.OpenViews: %w: %d blocks of %d elements of %d bytes; a window has %d", symmem.ErrUsage, n, block, size, most)
	}
	half := (int64(n*block*size) + lineBytes - 1) &^ (lineBytes - 1)
	words := int64(viewKinds*n+1) * lineBytes
	call := symmem.Record{Op: symmem.OpOpen, Engine: symmem.EngineCE, EltSize: size, Count: uint64(block), Digest: viewsDigest}
	team.World().Hold()
	a, err := window.OpenArea(ctx, team, call, words+2*half)
	if err != nil {
		team.World().Unhold()
		return nil, fmt.Errorf("ce.OpenViews: %w", err)
	}
	v := &Views[T]{team: team, area: a, block: block, watch: symmem.NewWatch(team)}
	mine := wordsOf(a.Local()[:words])
	rounds, records := make([]*uint64, n), make([]*[8]uint64, n)
	v.out = make([]*uint64, n)
	for h := range v.halves {
		v.halves[h], v.frees[h], v.gone[h] = make([][]T, n), make([]*uint64, n), make([]*uint64, n)
		v.seen[h].v, v.seen[h].half = v, h
		v.own[h] = window.Typed[T](a.Local()[words+int64(h)*half:], n*block)
	}
	for r := range n {
		theirs := wordsOf(a.Peer(r)[:words])
		records[r] = theirs.at(viewKinds * n)
		for h := range v.halves {
			v.halves[h][r] = window.Typed[T](a.Peer(r)[words+int64(h)*half:], n*block)[me*block:][:block:block]
		}
		if r == me {
			continue
		}
		rounds[r], v.out[r] = &mine.at(r)[0], &theirs.at(me)[0]
		for h := range v.halves {
			v.frees[h][r], v.gone[h][r] = &mine.at((1+h)*n + r)[0], &theirs.at((1+h)*n + me)[0]
		}
	}
	v.ready, v.free = shmsync.NewFlags(rounds, me+1), shmsync.NewFlags(v.frees[0], me+1)
	v.lane = team.OpenLane(records[me], records)
	return v, nil
}

// viewsDigest tells the opening of views from that of a stream.
const viewsDigest = 0x7669657773

// Buffer is the half that the next Exchange shows: block r of it, of the length
// given at Open, is for member r. What stands in it is what this rank wrote two
// exchanges ago. It waits until every member has released that; the wait is local
// and may be repeated. ErrViewsHeld if this rank itself has not.
func (v *Views[T]) Buffer(ctx context.Context) ([]T, error) {
	if err := v.usable(); err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	next := v.round + 1
	h := int(next & 1)
	if v.seen[h].held.Load() != 0 {
		return nil, fmt.Errorf("views: %w", ErrViewsHeld)
	}
	if !v.filled {
		v.free.Words = v.frees[h]
		v.free.Expect(max(next, 2) - 2)
		what := symmem.Record{Op: symmem.OpViews, Engine: symmem.EngineCE, EltSize: window.SizeOf[T](), Count: uint64(v.block), Sequence: next}
		if err := v.watch.Wait(ctx, what, v.free); err != nil {
			return nil, fmt.Errorf("views: waiting until all have released the buffer: %w", err)
		}
		v.filled = true
	}
	return v.own[h], nil
}

// Exchange shows the members what Buffer was filled with, and waits until all
// have come. It is collective. Without a Buffer before it is ErrUsage.
func (v *Views[T]) Exchange(ctx context.Context) (*Seen[T], error) {
	if err := v.usable(); err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	next := v.round + 1
	seen := &v.seen[next&1]
	switch {
	case seen.held.Load() != 0:
		return nil, fmt.Errorf("views: %w", ErrViewsHeld)
	case !v.filled:
		return nil, fmt.Errorf("views: %w: Exchange without Buffer", symmem.ErrUsage)
	}
	call := symmem.Record{Op: symmem.OpViews, Engine: symmem.EngineCE, EltSize: window.SizeOf[T](), Count: uint64(v.block)}
	if err := v.lane.Enter(ctx, &call); err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	v.round, v.filled = next, false
	for _, w := range v.out {
		if w != nil {
			line.StoreRelease64(w, next)
		}
	}
	v.lane.Publish()
	v.ready.Expect(next)
	if err := v.lane.Leave(v.lane.Await(ctx, v.ready)); err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	seen.held.Store(next)
	return seen, nil
}

// From is what member r has for this rank: its memory itself, which costs what it
// costs to take cache lines from another core. It panics if there is no such
// member, and is nil once released.
func (s *Seen[T]) From(r int) []T {
	b := s.v.halves[s.half][r]
	if s.held.Load() == 0 {
		return nil
	}
	return b
}

// Release says that this rank reads it no more, so that its owners may fill the
// half again. A second one does nothing.
func (s *Seen[T]) Release() {
	round := s.held.Swap(0)
	if round == 0 {
		return
	}
	for _, w := range s.v.gone[s.half] {
		if w != nil {
			line.StoreRelease64(w, round)
		}
	}
	s.v.team.RingAll()
}

// Close gives the memory back. It is collective over the team, and the last thing
// the members do with the views: nobody reads any more. A second Close does
// nothing; other calls then return symmem.ErrClosed.
func (v *Views[T]) Close(ctx context.Context) error {
	if v.closed {
		return nil
	}
	for h := range v.seen {
		v.seen[h].held.Store(0)
	}
	if err := v.area.Close(ctx); err != nil {
		return fmt.Errorf("views: %w", err)
	}
	v.closed = true
	v.lane.Close()
	v.team.World().Unhold()
	return nil
}

func (v *Views[T]) usable() error {
	if v.closed {
		return fmt.Errorf("they are %w", symmem.ErrClosed)
	}
	return v.team.Usable()
}
