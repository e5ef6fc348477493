package symwin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/window"
)

// engines are the ways to choose one.
var engines = map[string]string{"table": "", "ce": forced("ce"), "ll64": forced("ll64"), "bcopy": forced("bcopy")}

func forced(engine string) string {
	var items []string
	for _, op := range []string{"alltoall", "allgather", "gather", "scatter", "broadcast", "reduce", "allreduce", "reducescatter"} {
		items = append(items, op+":"+engine)
	}
	return strings.Join(items, ",")
}

// memories say which ranks have dst and src in a window.
var memories = []struct {
	name     string
	dst, src func(rank int) bool
}{
	{"private", never, never},
	{"windows", evermore, evermore},
	{"mixed", func(r int) bool { return r%2 == 0 }, func(r int) bool { return r%3 == 0 }},
}

func never(int) bool    { return false }
func evermore(int) bool { return true }

// counts of elements: of less than a line, around the borders of engines, pieces
// and shares, and more than a staging ring gives to one of many.
var counts = []int{0, 1, 7, 64, 129, 1000, 5003, 70_001}

// desk is one rank's memory for an exam, and what it is asked.
type desk[T symwin.Number] struct {
	ctx     context.Context
	team    *symwin.Team
	me, n   int
	private [2][]T
	windows [2]*symwin.Window[T]
	inside  [2]bool // dst, src in a window
	round   int
	whole   []T // the buffer that was given out last as dst, with its margins
}

const margin = 3 // elements on either side of dst that must stay as they are

func newDesk[T symwin.Number](ctx context.Context, w *symwin.World, team *symwin.Team, most int) (*desk[T], error) {
	d := &desk[T]{ctx: ctx, team: team, me: team.Rank(), n: team.Size()}
	for i := range d.windows {
		win, err := symwin.Alloc[T](ctx, w, most+2*margin)
		if err != nil {
			return nil, err
		}
		d.private[i], d.windows[i] = make([]T, most+2*margin), win
	}
	return d, nil
}

func (d *desk[T]) free() error {
	for _, w := range d.windows {
		if err := w.Free(d.ctx); err != nil {
			return err
		}
	}
	return nil
}

// value is element i of what rank from has in a round: an odd number, so that no
// product of them is zero, which depends on all three.
func value[T symwin.Number](round, from, i int) T {
	x := (uint64(round)<<40 ^ uint64(from)<<32 ^ uint64(i)) * 0x9e3779b97f4a7c15
	var half T = 1
	half /= 2 // 0 for integers
	return T(x>>58|1) + half
}

// dst is n elements for what arrives, all wrong.
func (d *desk[T]) dst(n int) []T {
	d.whole = d.buffer(0, n)
	for i := range d.whole {
		d.whole[i] = 99
	}
	return d.whole[margin : margin+n : margin+n]
}

// src is n elements of the rank's own.
func (d *desk[T]) src(n int) []T {
	s := d.buffer(1, n)[margin : margin+n : margin+n]
	d.fill(s, 0)
	return s
}

func (d *desk[T]) buffer(i, n int) []T {
	if d.inside[i] {
		return d.windows[i].Local()[:n+2*margin]
	}
	return d.private[i][:n+2*margin]
}

func (d *desk[T]) fill(s []T, from int) {
	for i := range s {
		s[i] = value[T](d.round, d.me, from+i)
	}
}

// check compares got, which lies in the last dst, with want, and the rest of that
// with what was there.
func (d *desk[T]) check(what string, err error, got []T, want func(i int) T) error {
	d.round++
	if err != nil {
		return err
	}
	for i := range got {
		if w := want(i); got[i] != w {
			return fmt.Errorf("%s of %T, round %d: rank %d of %d has %v at %d of %d, should be %v", what, got[i], d.round-1, d.me, d.n, got[i], i, len(got), w)
		}
	}
	for i := range margin {
		if d.whole[i] != 99 || d.whole[len(d.whole)-1-i] != 99 {
			return fmt.Errorf("%s, round %d: rank %d was written to beside its dst", what, d.round-1, d.me)
		}
	}
	// A window is written by peers as soon as they come to the next call.
	return symwin.Barrier(d.ctx, d.team)
}

// checkReduced is check for a part of a reduction of n elements, from one on.
func (d *desk[T]) checkReduced(what string, err error, got []T, op symwin.Op, n, from int) error {
	want := d.reduced(op, n)
	return d.check(what, err, got, func(i int) T { return want[from+i] })
}

// reduced is what all have of n elements, reduced. In one process the ranks ask
// for the same at the same time, between two barriers, and one computes it.
func (d *desk[T]) reduced(op symwin.Op, n int) []T {
	type question struct {
		round, ranks, n int
		op              symwin.Op
	}
	q := question{d.round, d.n, n, op}
	answers.Lock()
	defer answers.Unlock()
	if a, ok := answers.last.([]T); ok && answers.to == any(q) {
		return a
	}
	a := make([]T, n)
	for i := range a {
		a[i] = value[T](d.round, 0, i)
		for r := 1; r < d.n; r++ {
			a[i] = naive(op, a[i], value[T](d.round, r, i))
		}
	}
	answers.to, answers.last = q, a
	return a
}

var answers struct {
	sync.Mutex
	to, last any
}

func naive[T symwin.Number](op symwin.Op, a, b T) T {
	switch op {
	case symwin.Sum:
		return a + b
	case symwin.Prod:
		return a * b
	case symwin.Min:
		return min(a, b)
	default:
		return max(a, b)
	}
}

// every makes every collective once with parts of count elements, and again in
// place where there is such a thing, and checks every element.
func (d *desk[T]) every(count, root int) error {
	n, me, last := d.n, d.me, d.round
	of := func(r, i int) T { return value[T](d.round-1, r, i) }
	part := func(p []T, r int) []T { return p[r*count : (r+1)*count] }
	at := func(i int) (int, int) { return i / count, i % count }
	steps := []func() error{
		func() error {
			dst, src := d.dst(n*count), d.src(n*count)
			err := symwin.AllToAll(d.ctx, d.team, dst, src)
			return d.check("alltoall", err, dst, func(i int) T { r, k := at(i); return of(r, me*count+k) })
		},
		func() error {
			dst, src := d.dst(n*count), d.src(count)
			err := symwin.AllGather(d.ctx, d.team, dst, src)
			return d.check("allgather", err, dst, func(i int) T { r, k := at(i); return of(r, k) })
		},
		func() error {
			dst := d.dst(n * count)
			d.fill(part(dst, me), 0)
			err := symwin.AllGather(d.ctx, d.team, dst, part(dst, me))
			return d.check("allgather in place", err, dst, func(i int) T { r, k := at(i); return of(r, k) })
		},
		func() error {
			dst, src := d.dst(n*count), d.src(count)
			if me != root {
				dst = nil
			}
			err := symwin.Gather(d.ctx, d.team, dst, src, root)
			return d.check("gather", err, dst, func(i int) T { r, k := at(i); return of(r, k) })
		},
		func() error {
			dst, src := d.dst(n*count), d.src(count)
			if me == root {
				d.fill(part(dst, me), 0)
				src = part(dst, me)
			} else {
				dst = nil
			}
			err := symwin.Gather(d.ctx, d.team, dst, src, root)
			return d.check("gather in place", err, dst, func(i int) T { r, k := at(i); return of(r, k) })
		},
		func() error {
			dst, src := d.dst(count), d.src(n*count)
			if me != root {
				src = nil
			}
			err := symwin.Scatter(d.ctx, d.team, dst, src, root)
			return d.check("scatter", err, dst, func(i int) T { return of(root, me*count+i) })
		},
		func() error {
			dst := d.dst(n * count)
			var err error
			if me == root {
				d.fill(dst, 0)
				err = symwin.Scatter(d.ctx, d.team, part(dst, me), dst, root)
			} else {
				dst = part(dst, me)
				err = symwin.Scatter(d.ctx, d.team, dst, nil, root)
			}
			return d.check("scatter in place", err, dst, func(i int) T {
				if me == root {
					return of(me, i)
				}
				return of(root, me*count+i)
			})
		},
		func() error {
			buf := d.dst(n * count)
			if me == root {
				d.fill(buf, 0)
			}
			err := symwin.Broadcast(d.ctx, d.team, buf, root)
			return d.check("broadcast", err, buf, func(i int) T { return of(root, i) })
		},
		func() error {
			dst, src := d.dst(n*count), d.src(n*count)
			if me != root {
				dst = nil
			}
			err := symwin.Reduce(d.ctx, d.team, dst, src, symwin.Sum, root)
			return d.checkReduced("reduce", err, dst, symwin.Sum, n*count, 0)
		},
		func() error {
			dst, src := d.dst(n*count), d.src(n*count)
			if me == root {
				d.fill(dst, 0)
				src = dst
			} else {
				dst = nil
			}
			err := symwin.Reduce(d.ctx, d.team, dst, src, symwin.Max, root)
			return d.checkReduced("reduce in place", err, dst, symwin.Max, n*count, 0)
		},
		func() error {
			dst, src := d.dst(n*count), d.src(n*count)
			err := symwin.AllReduce(d.ctx, d.team, dst, src, symwin.Prod)
			return d.checkReduced("allreduce", err, dst, symwin.Prod, n*count, 0)
		},
		func() error {
			dst := d.dst(n * count)
			d.fill(dst, 0)
			err := symwin.AllReduce(d.ctx, d.team, dst, dst, symwin.Sum)
			return d.checkReduced("allreduce in place", err, dst, symwin.Sum, n*count, 0)
		},
		func() error { // in place on some ranks only
			dst, src := d.dst(count), d.src(count)
			if me%2 == 0 {
				d.fill(dst, 0)
				src = dst
			}
			err := symwin.AllReduce(d.ctx, d.team, dst, src, symwin.Min)
			return d.checkReduced("allreduce half in place", err, dst, symwin.Min, count, 0)
		},
		func() error {
			dst, src := d.dst(count), d.src(n*count)
			err := symwin.ReduceScatter(d.ctx, d.team, dst, src, symwin.Sum)
			return d.checkReduced("reducescatter", err, dst, symwin.Sum, n*count, me*count)
		},
		func() error {
			dst := d.dst(n * count)
			d.fill(dst, 0)
			err := symwin.ReduceScatter(d.ctx, d.team, part(dst, me), dst, symwin.Min)
			return d.checkReduced("reducescatter in place", err, part(dst, me), symwin.Min, n*count, me*count)
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if d.round != last+len(steps) {
		return fmt.Errorf("%d rounds", d.round-last)
	}
	return nil
}

// exams goes through memories and sizes, as far as they hold no more than total
// bytes on all ranks together.
func exams[T symwin.Number](ctx context.Context, w *symwin.World, team *symwin.Team, total int) error {
	if underRace {
		total /= 8
	}
	n, all := team.Size(), w.Size()
	fits := func(count int) bool { return all*all*count*window.SizeOf[T]() <= total }
	most := 0
	for _, c := range counts {
		if fits(c) {
			most = c
		}
	}
	d, err := newDesk[T](ctx, w, team, all*most)
	if err != nil {
		return err
	}
	for m, memory := range memories {
		d.inside = [2]bool{memory.dst(d.me), memory.src(d.me)}
		for i, c := range counts {
			if !fits(c) {
				continue
			}
			if err := d.every(c, (i+m)%n); err != nil {
				return fmt.Errorf("%s: %w", memory.name, err)
			}
		}
	}
	return d.free()
}

// everything is the exams for three types, on the world and on two teams of its
// ranks in other orders.
func everything(ctx context.Context, w *symwin.World) error {
	if err := exams[float32](ctx, w, w.Team(), 1<<20); err != nil {
		return err
	}
	if err := exams[uint8](ctx, w, w.Team(), 1<<17); err != nil {
		return err
	}
	if w.Size() < 3 {
		return exams[int64](ctx, w, w.Team(), 1<<19)
	}
	half, err := w.Team().Split(ctx, w.Rank()%2, -w.Rank())
	if err != nil {
		return err
	}
	if err := exams[int64](ctx, w, half, 1<<18); err != nil {
		return err
	}
	if err := w.Team().Barrier(ctx); err != nil { // the world's windows were freed by halves
		return err
	}
	return half.Close(ctx)
}

func TestEveryCollective(t *testing.T) {
	for name, algo := range engines {
		sizes := []int{1, 2, 3, 4, 5, 6, 7, 8, 16}
		if name == "ll64" || name == "bcopy" { // the table has many of those, ce is much the same
			sizes = []int{2, 3, 8}
		}
		for _, n := range sizes {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				t.Setenv(env.KeyAlgo, algo)
				require.NoError(t, symwin.Run(context.Background(), n, everything))
			})
		}
	}
}

func TestEveryCollectiveBetweenProcesses(t *testing.T) {
	for name, algo := range engines {
		for _, n := range []int{2, 3, 6} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				ranktest.Start(t, n, "everything", env.KeyAlgo+"="+algo).Wait()
			})
		}
	}
}

// TestBits: the operations that integers alone have, by every engine.
func TestBits(t *testing.T) {
	for name, algo := range engines {
		for _, n := range []int{1, 2, 3, 8} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				t.Setenv(env.KeyAlgo, algo)
				require.NoError(t, symwin.Run(context.Background(), n, func(ctx context.Context, w *symwin.World) error {
					return errors.Join(bits[uint8](ctx, w), bits[int32](ctx, w), bits[uint64](ctx, w))
				}))
			})
		}
	}
}

func bits[T uint8 | int32 | uint64](ctx context.Context, w *symwin.World) error {
	team, n, me := w.Team(), w.Size(), w.Rank()
	value := func(rank, i int) T { return T(uint64(rank*97+i+1) * 0x9e3779b97f4a7c15 >> 13) }
	for k, f := range []func(a, b T) T{
		func(a, b T) T { return a & b },
		func(a, b T) T { return a | b },
		func(a, b T) T { return a ^ b },
	} {
		op := []symwin.Op{symwin.And, symwin.Or, symwin.Xor}[k]
		for _, each := range []int{1, 100, 20_000} {
			src, want := make([]T, n*each), make([]T, n*each)
			for i := range src {
				src[i], want[i] = value(me, i), value(0, i)
				for r := 1; r < n; r++ {
					want[i] = f(want[i], value(r, i))
				}
			}
			all, one, part := make([]T, n*each), make([]T, n*each), make([]T, each)
			if err := errors.Join(symwin.AllReduce(ctx, team, all, src, op), symwin.Reduce(ctx, team, one, src, op, n-1), symwin.ReduceScatter(ctx, team, part, src, op)); err != nil {
				return err
			}
			if !slices.Equal(all, want) || me == n-1 && !slices.Equal(one, want) || !slices.Equal(part, want[me*each:][:each]) {
				return fmt.Errorf("%v of %d times %d %T is wrong on rank %d", op, n, each, src[0], me)
			}
		}
	}
	return nil
}
