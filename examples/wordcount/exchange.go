package main

import (
	"context"
	"slices"

	"github.com/symwin/symwin"
)

// An Exchange sends streams of bytes from every rank to every rank, all at once.
type Exchange struct {
	team      *symwin.Team
	piece     int    // bytes of one stream in one round
	src, dst  []byte // a round: what goes out and what comes in, in rank order
	out, in   []int  // how many bytes of that belong to which rank
	mine, all []int  // the length of the longest stream, here and on each rank
}

// NewExchange makes an exchange whose rounds move at most budget bytes a rank.
func NewExchange(team *symwin.Team, budget int) *Exchange {
	n := team.Size()
	x := &Exchange{team: team, piece: max(budget/n, 1)}
	x.src, x.dst = make([]byte, 0, n*x.piece), make([]byte, n*x.piece)
	x.out, x.in = make([]int, n), make([]int, n)
	x.mine, x.all = make([]int, n), make([]int, n)
	return x
}

// Do sends streams[r] to rank r and hands over what came from where, piece by
// piece. All ranks call it, also those with nothing to send.
func (x *Exchange) Do(ctx context.Context, streams [][]byte, take func(from int, piece []byte) error) error {
	longest := slices.MaxFunc(streams, func(a, b []byte) int { return len(a) - len(b) })
	for r := range x.mine {
		x.mine[r] = len(longest) // everyone is told, so that all agree on the rounds
	}
	if err := symwin.AllToAll(ctx, x.team, x.all, x.mine); err != nil {
		return err
	}
	for at := 0; at < slices.Max(x.all); at += x.piece {
		x.src = x.src[:0]
		for r, s := range streams {
			s = s[min(at, len(s)):min(at+x.piece, len(s))]
			x.src, x.out[r] = append(x.src, s...), len(s)
		}
		// AllToAllv sends the counts first and says in x.in what came.
		if err := symwin.AllToAllv(ctx, x.team, x.dst, x.in, x.src, x.out); err != nil {
			return err
		}
		rest := x.dst
		for r, n := range x.in {
			if err := take(r, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}
