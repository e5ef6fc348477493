package symmem

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Split makes new teams of the members of t: one for each color, ordered by key
// and, among equal keys, by rank in t. It is collective over t. A member with a
// negative color gets no team (nil). Splitting with one color and equal keys
// duplicates the team.
//
// A rank can be in 64 teams at once, the world's included; ErrNoSpace on all
// members of t if some color finds no number free.
func (t *Team) Split(ctx context.Context, color, key int) (*Team, error) {
	if err := t.lane.Enter(ctx, Record{Op: OpSplit}); err != nil {
		return nil, err
	}
	sub, err := t.split(ctx, color, key)
	if agreed, ok := err.(*NoSpaceError); ok {
		_ = t.lane.Leave(nil)
		return nil, agreed
	}
	return sub, t.lane.Leave(err)
}

func (t *Team) split(ctx context.Context, color, key int) (*Team, error) {
	w := t.w
	w.teamsMu.Lock()
	defer w.teamsMu.Unlock()
	posts, err := t.Exchange(ctx, Post{uint64(color), uint64(key), ^w.teams})
	if err != nil {
		return nil, err
	}
	// Everybody computes all groups, so that everybody knows if one fails.
	type member struct{ rank, key int }
	groups := map[int][]member{}
	free := map[int]uint64{}
	for r, p := range posts {
		if c := int(p[0]); c >= 0 {
			if groups[c] == nil {
				free[c] = ^uint64(0)
			}
			groups[c] = append(groups[c], member{r, int(p[1])})
			free[c] &= p[2]
		}
	}
	for c := range groups {
		if free[c] == 0 {
			return nil, &NoSpaceError{Rank: w.rank, Need: 1, Have: 0, Where: fmt.Sprintf("the %d team numbers (close teams that are no longer used)", maxTeams)}
		}
	}
	var members []int
	number, base := 0, uint64(0)
	if color >= 0 {
		g := groups[color]
		slices.SortStableFunc(g, func(a, b member) int { return cmp.Compare(a.key, b.key) })
		for _, m := range g {
			members = append(members, t.members[m.rank])
		}
		number = bits.TrailingZeros64(free[color])
		base = w.mine.teams[number].reset()
		w.teams |= 1 << number
	}
	// Nobody uses the new place before every member has cleared its own.
	if posts, err = t.Exchange(ctx, Post{base, atomic.LoadUint64(&w.mine.teams[number].count)}); err != nil {
		return nil, err
	}
	if color < 0 {
		return nil, nil
	}
	for _, m := range groups[color] {
		base = max(base, posts[m.rank][0])
	}
	sub := newTeam(w, number, members)
	sub.barriers, sub.exchanges, sub.lane.last = base, base, base
	sub.tallied = posts[groups[color][0].rank][1]
	return sub, nil
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
	p.revoked.Store(0)
	p.kind, p.length = 0, 0
	return counted
}

// Close gives the team's number back, and the memory of its collectives. It is
// collective over the team, and the last thing its members do with it; the
// world's team is closed by World.Close.
func (t *Team) Close(ctx context.Context) error {
	if t.number == 0 {
		return usage("the world's team ends with World.Close")
	}
	if a, ok := t.attached.Load().(interface{ Close(context.Context) error }); ok {
		if err := a.Close(ctx); err != nil {
			return err
		}
	}
	if err := t.lane.Enter(ctx, Record{Op: OpTeamClose}); err != nil {
		return err
	}
	// A bare barrier: once somebody is through, its place may be another team's.
	t.lane.Publish()
	if err := t.lane.Leave(t.rendezvous(ctx)); err != nil {
		return err
	}
	t.closed.Store(true)
	t.w.teamsMu.Lock()
	t.w.teams &^= 1 << t.number
	t.w.teamsMu.Unlock()
	t.w.forget(&t.lane.gate)
	return nil
}
