package symmem

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
)

// Split makes new teams of the members of t: one for each color, ordered by key
// and, among equal keys, by rank in t. It is collective over t. A member with a
// negative color gets no team (nil). Splitting with one color and equal keys
// duplicates the team.
//
// A rank can be in 64 teams at once, the world's included; ErrNoSpace on all
// members of t if some color finds no number free. Different teams may be split
// from different goroutines.
func (t *Team) Split(ctx context.Context, color, key int) (*Team, error) {
	if err := t.lane.Enter(ctx, &Record{Op: OpSplit}); err != nil {
		return nil, err
	}
	sub, err := t.split(ctx, color, key)
	if agreed, ok := err.(*NoSpaceError); ok {
		_ = t.lane.Leave(nil)
		return nil, agreed
	}
	return sub, t.lane.Leave(err)
}

// split agrees on a free number for each color in two exchanges: which numbers
// are free, and whether everybody could still take the one that follows from
// that. Another goroutine may have split another team meanwhile; then all try
// again. (Holding the numbers through the exchanges would be a deadlock as soon
// as two ranks split two teams in different order.)
func (t *Team) split(ctx context.Context, color, key int) (*Team, error) {
	for {
		mine := Post{uint64(color), uint64(key), t.w.freeTeams()}
		posts, err := t.Exchange(ctx, mine)
		if err != nil {
			return nil, err
		}
		// Nothing that stands in shared memory may lead outside it, nor to a number
		// that is not free here, again and again.
		posts[t.rank] = mine
		g, err := t.group(posts, color)
		if err != nil {
			return nil, err
		}
		vote := Post{1}
		if color >= 0 && t.w.takeTeam(g.number) {
			// Nobody uses the place before every member has cleared its own.
			vote = Post{1, t.mineAt(g.number).reset(), atomic.LoadUint64(&t.mineAt(g.number).count), g.generation(t)}
		} else if color >= 0 {
			vote = Post{0}
		}
		failpoint.Hit(failpoint.SplitTaken)
		if posts, err = t.Exchange(ctx, vote); err != nil {
			return nil, err
		}
		failpoint.Hit(failpoint.SplitVoted)
		again := false
		for _, p := range posts {
			again = again || p[0] == 0
		}
		switch {
		case again:
			if vote[0] != 0 && color >= 0 {
				t.w.giveTeam(g.number)
			}
		case color < 0:
			return nil, nil
		default:
			return g.team(t, posts)
		}
	}
}

// group is the members of one color, in order, as ranks of the parent, and the
// number they would take.
type group struct {
	ranks  []int
	number int
}

// group works out the groups of all colors, so that everybody knows if one of
// them fails, and returns the own one.
func (t *Team) group(posts []Post, color int) (group, error) {
	groups, free := map[int][]int{}, map[int]uint64{}
	for r, p := range posts {
		if c := int(p[0]); c >= 0 {
			if groups[c] == nil {
				free[c] = ^uint64(1) // never the world's
			}
			groups[c] = append(groups[c], r)
			free[c] &= p[2]
		}
	}
	for c := range groups {
		if free[c] == 0 {
			return group{}, &NoSpaceError{Rank: -1, Need: 1, Have: 0, Where: fmt.Sprintf("the %d team numbers (close teams that are no longer used)", maxTeams)}
		}
	}
	if color < 0 {
		return group{}, nil
	}
	g := group{ranks: groups[color], number: bits.TrailingZeros64(free[color])}
	slices.SortStableFunc(g.ranks, func(a, b int) int { return cmp.Compare(int(posts[a][1]), int(posts[b][1])) })
	return g, nil
}

// generation is what the group's rank 0 stores into the word of revocations, so
// that one that is late, for the number's last team, misses this one.
func (g *group) generation(t *Team) uint64 {
	if g.ranks[0] != t.rank {
		return 0
	}
	word := &t.mineAt(g.number).revoked
	next := uint32(generationOf(word.Load())+1) << revokedBits
	word.Store(next)
	return uint64(next)
}

// team makes the new team once all have voted for it.
func (g *group) team(t *Team, posts []Post) (*Team, error) {
	members := make([]int, len(g.ranks))
	base := uint64(0)
	for i, r := range g.ranks {
		members[i] = t.members[r]
		base = max(base, posts[r][1])
	}
	first := posts[g.ranks[0]]
	if base > absurd || first[2] > absurd || first[3]&^(1<<32-1) != 0 {
		return nil, regionError("the counters of team number %d are damaged", g.number)
	}
	sub := newTeam(t.w, g.number, members)
	sub.barriers, sub.exchanges, sub.lane.last = base, base, base
	sub.tallied, sub.intact = first[2], uint32(first[3])
	return sub, nil
}

// absurd is more than any counter can have counted.
const absurd = 1 << 62

func (t *Team) mineAt(number int) *place { return &t.w.mine.teams[number] }

// freeTeams are the numbers this rank has free, takeTeam takes one if it still
// is, giveTeam gives it back.
func (w *World) freeTeams() uint64 {
	w.teamsMu.Lock()
	defer w.teamsMu.Unlock()
	return ^w.teams
}

func (w *World) takeTeam(number int) bool {
	w.teamsMu.Lock()
	defer w.teamsMu.Unlock()
	free := w.teams>>number&1 == 0
	w.teams |= 1 << number
	return free
}

func (w *World) giveTeam(number int) {
	w.teamsMu.Lock()
	defer w.teamsMu.Unlock()
	w.teams &^= 1 << number
}

// reset makes a place that another team used before fit for a new one and
// returns how far it had counted. The counts go on: a slow member of the old
// team may still be reading that this one has arrived at its last barrier. The
// caller owns the place; an exchange follows before the new team looks.
func (p *place) reset() (counted uint64) {
	counted = max(atomic.LoadUint64(&p.arrived), atomic.LoadUint64(&p.posted))
	if rec, ok := loadRecord(&p.call); ok {
		counted = max(counted, rec.Sequence)
	}
	p.kind, p.length = 0, 0
	return counted
}

// Close gives the team's number back, and the memory of its collectives. It is
// collective over the team, and the last thing its members do with it; the
// world's team is closed by World.Close.
//
// While work that was started on it goes on (a batch of package ce), it is ErrUsage,
// locally and with nothing stored: the work needs the team. A revoked team cannot be
// closed, since its members no longer agree: its number stays taken.
func (t *Team) Close(ctx context.Context) error {
	if t.number == 0 {
		return usage("the world's team ends with World.Close")
	}
	if n := t.started.Load(); n > 0 && !t.ended() {
		return usage("team %d has started work that has not ended (%d); wait for it before Close", t.number, n)
	}
	if err := ctx.Err(); err != nil {
		return err // nothing was stored
	}
	if a, ok := t.attached.Load().(interface{ Close(context.Context) error }); ok {
		if err := a.Close(ctx); err != nil {
			return t.Revoke(err)
		}
	}
	if err := t.lane.Enter(ctx, &Record{Op: OpTeamClose}); err != nil {
		return err
	}
	// A bare barrier: once somebody is through, its place may be another team's.
	t.lane.Publish()
	if err := t.lane.Leave(t.rendezvous(ctx)); err != nil {
		return err
	}
	t.closed.Store(true)
	t.w.giveTeam(t.number)
	t.w.forget(&t.lane.gate)
	return nil
}
