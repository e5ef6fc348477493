package main

import (
	"fmt"
	"slices"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/lla2a"
)

// of is n elements that rank from has for rank to in this turn.
func (x *worker) of(from, to, n int) []uint64 {
	v := make([]uint64, n)
	for i := range v {
		v[i] = x.value(from, to, i)
	}
	return v
}

// length is of a message: mostly short, sometimes of some copies.
func (x *worker) length() int {
	if x.rand.IntN(3) == 0 {
		return 1 + x.rand.IntN(40_000)
	}
	return 1 + x.rand.IntN(64)
}

// toAll is an epoch of the session in which everybody sends to everybody at once.
func (x *worker) toAll() error {
	j := int(x.turn & 1)
	mine := [3]uint64{x.value(x.me, 0, 0), x.value(x.me, 0, 1), x.value(x.me, 0, 2)}
	if err := x.session.Bcast(x.ctx, j, mine); err != nil {
		return err
	}
	if x.rand.IntN(2) == 0 {
		all := make([][3]uint64, x.n)
		if err := x.session.RecvAll(x.ctx, j, all); err != nil {
			return err
		}
		for from, v := range all {
			if err := x.check("session to all", v[:], from, 0, 0); err != nil {
				return err
			}
		}
		return x.session.EndEpoch(x.ctx)
	}
	sum, err := lla2a.RecvReduce(x.ctx, x.session, j, uint64(0), func(sum uint64, v [3]uint64) uint64 { return sum + v[1] })
	if err != nil {
		return err
	}
	if want := x.sum(1); sum != want {
		return &wrongBytes{fmt.Sprintf("session, turn %d: reduced to %#x, should be %#x", x.turn, sum, want)}
	}
	return x.session.EndEpoch(x.ctx)
}

// sum is what the ranks' elements i for rank 0 add up to.
func (x *worker) sum(i int) (sum uint64) {
	for from := range x.n {
		sum += x.value(from, 0, i)
	}
	return sum
}

const viewElements = 512

// look shows every rank a block, which it reads where it lies.
func (x *worker) look() error {
	mine, err := x.views.Buffer(x.ctx)
	if err != nil {
		return err
	}
	for to := range x.n {
		copy(mine[to*viewElements:][:viewElements], x.of(x.me, to, viewElements))
	}
	seen, err := x.views.Exchange(x.ctx)
	if err != nil {
		return err
	}
	defer seen.Release()
	for from := range x.n {
		if err := x.check("views", seen.From(from), from, x.me, 0); err != nil {
			return err
		}
	}
	return nil
}

// reduce adds vectors up: for all, by parts, or for one.
func (x *worker) reduce() error {
	n := x.length()
	dst, root, first := make([]uint64, n), x.rand.IntN(x.n), 0
	switch x.rand.IntN(3) {
	case 0:
		if err := symwin.AllReduce(x.ctx, x.w.Team(), dst, x.of(x.me, 0, n), symwin.Sum); err != nil {
			return err
		}
	case 1:
		if err := symwin.ReduceScatter(x.ctx, x.w.Team(), dst, x.of(x.me, 0, n*x.n), symwin.Sum); err != nil {
			return err
		}
		first = x.me * n
	case 2:
		if err := symwin.Reduce(x.ctx, x.w.Team(), dst, x.of(x.me, 0, n), symwin.Sum, root); err != nil {
			return err
		}
		if x.me != root {
			return nil
		}
	}
	for i, v := range dst {
		if want := x.sum(first + i); v != want {
			return &wrongBytes{fmt.Sprintf("reduction, turn %d: element %d is %#x, should be %#x", x.turn, first+i, v, want)}
		}
	}
	return nil
}

// broadcast is from any rank.
func (x *worker) broadcast() error {
	n, root := x.length(), x.rand.IntN(x.n)
	buf := make([]uint64, n)
	if x.me == root {
		buf = x.of(root, 0, n)
	}
	if err := symwin.Broadcast(x.ctx, x.w.Team(), buf, root); err != nil {
		return err
	}
	return x.check("broadcast", buf, root, 0, 0)
}

// gather is to all or to one, or its opposite.
func (x *worker) gather() error {
	n, root, team := x.length(), x.rand.IntN(x.n), x.w.Team()
	dst := make([]uint64, n*x.n)
	switch x.rand.IntN(3) {
	case 0:
		if err := symwin.AllGather(x.ctx, team, dst, x.of(x.me, 0, n)); err != nil {
			return err
		}
	case 1:
		if err := symwin.Gather(x.ctx, team, dst, x.of(x.me, 0, n), root); err != nil || x.me != root {
			return err
		}
	case 2:
		var src []uint64
		for to := range x.n {
			src = append(src, x.of(root, to, n)...)
		}
		if err := symwin.Scatter(x.ctx, team, dst[:n], src, root); err != nil {
			return err
		}
		return x.check("scatter", dst[:n], root, x.me, 0)
	}
	for from := range x.n {
		if err := x.check("gather", dst[from*n:][:n], from, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// uneven exchanges parts of all lengths, none too.
func (x *worker) uneven() error {
	most := x.length()
	count := func(from, to int) int {
		return max(0, int(x.value(from, to, -1)%uint64(most+most/2+1))-most/2)
	}
	var src, want []uint64
	send, got, counts := make([]int, x.n), make([]int, x.n), make([]int, x.n)
	if x.rand.IntN(2) == 0 {
		for r := range x.n {
			send[r], counts[r] = count(x.me, r), count(r, x.me)
			src = append(src, x.of(x.me, r, send[r])...)
			want = append(want, x.of(r, x.me, counts[r])...)
		}
		dst := make([]uint64, len(want)+x.rand.IntN(2))
		if err := symwin.AllToAllv(x.ctx, x.w.Team(), dst, got, src, send); err != nil {
			return err
		}
		return x.same("alltoallv", dst[:len(want)], want, got, counts)
	}
	for r := range x.n {
		counts[r] = count(r, 0)
		want = append(want, x.of(r, 0, counts[r])...)
	}
	dst := make([]uint64, len(want))
	if err := symwin.AllGatherv(x.ctx, x.w.Team(), dst, got, x.of(x.me, 0, counts[x.me])); err != nil {
		return err
	}
	return x.same("allgatherv", dst, want, got, counts)
}

func (x *worker) same(what string, got, want []uint64, counts, wantCounts []int) error {
	if !slices.Equal(got, want) || !slices.Equal(counts, wantCounts) {
		return &wrongBytes{fmt.Sprintf("%s, turn %d: other data than was sent, or counts %v that should be %v", what, x.turn, counts, wantCounts)}
	}
	return nil
}
