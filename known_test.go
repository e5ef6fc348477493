package symwin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
)

// What is known of a call is known of that call only: of each of many, made again
// and again, every byte is right.
func TestManyCallsMadeAgain(t *testing.T) {
	err := symwin.Run(context.Background(), 3, func(ctx context.Context, w *symwin.World) error {
		for round := range 3 {
			for n := range 120 { // more than there are places
				if err := callsOf[int32](ctx, w, n, round); err != nil {
					return err
				}
				if err := callsOf[float32](ctx, w, n, round); err != nil {
					return err
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// callsOf makes every operation that may be known, on parts of n elements.
func callsOf[T int32 | float32](ctx context.Context, w *symwin.World, n, round int) error {
	size, me, team := w.Size(), w.Rank(), w.Team()
	at := func(from, to, i int) T { return T(round + 3*from + 5*to + 7*i) }
	src, dst := make([]T, n*size), make([]T, n*size)
	for i := range src {
		src[i] = at(me, i/max(n, 1), i%max(n, 1))
	}
	if err := symwin.AllToAll(ctx, team, dst, src); err != nil {
		return err
	}
	for i, v := range dst {
		if v != at(i/n, me, i%n) {
			return fmt.Errorf("all-to-all of %d %T: element %d is %v", n, v, i, v)
		}
	}
	if err := symwin.AllGather(ctx, team, dst, src[:n]); err != nil {
		return err
	}
	for i, v := range dst {
		if v != at(i/n, 0, i%n) {
			return fmt.Errorf("all-gather of %d %T: element %d is %v", n, v, i, v)
		}
	}
	for _, op := range []symwin.Op{symwin.Sum, symwin.Max} {
		if err := symwin.AllReduce(ctx, team, dst[:n], src[:n], op); err != nil {
			return err
		}
		for i, v := range dst[:n] {
			want := at(size-1, 0, i)
			for r := range size - 1 {
				if op == symwin.Sum {
					want += at(r, 0, i)
				}
			}
			if v != want {
				return fmt.Errorf("%v of %d %T: element %d is %v, not %v", op, n, v, i, v, want)
			}
		}
	}
	for _, op := range []symwin.Op{symwin.Sum, symwin.Max} {
		if err := symwin.ReduceScatter(ctx, team, dst[:n], src, op); err != nil {
			return err
		}
		for i, v := range dst[:n] {
			want := at(size-1, me, i)
			for r := range size - 1 {
				if op == symwin.Sum {
					want += at(r, me, i)
				}
			}
			if v != want {
				return fmt.Errorf("share of %v of %d %T: element %d is %v, not %v", op, n, v, i, v, want)
			}
		}
	}
	for root := range size {
		if err := symwin.Gather(ctx, team, dst, src[:n], root); err != nil {
			return err
		}
		for i, v := range dst {
			if me == root && v != at(i/n, 0, i%n) {
				return fmt.Errorf("gather of %d %T to %d: element %d is %v", n, v, root, i, v)
			}
		}
		if err := symwin.Reduce(ctx, team, dst[:n], src[:n], symwin.Min, root); err != nil {
			return err
		}
		for i, v := range dst[:n] {
			if me == root && v != at(0, 0, i) {
				return fmt.Errorf("reduction of %d %T to %d: element %d is %v", n, v, root, i, v)
			}
		}
		if err := symwin.Scatter(ctx, team, dst[:n], src, root); err != nil {
			return err
		}
		for i, v := range dst[:n] {
			if v != at(root, me, i) {
				return fmt.Errorf("scatter of %d %T from %d: element %d is %v", n, v, root, i, v)
			}
		}
		copy(dst[:n], src[:n])
		if err := symwin.Broadcast(ctx, team, dst[:n], root); err != nil {
			return err
		}
		for i, v := range dst[:n] {
			if v != at(root, 0, i) {
				return fmt.Errorf("broadcast of %d %T from %d: element %d is %v", n, v, root, i, v)
			}
		}
	}
	return nil
}

// A program of many different calls has nearly all of them known, whichever lengths
// they differ in; and a call that is made in place is known once, and found.
func TestManyCallsAreKnown(t *testing.T) {
	const calls, most = 64, 60 // a few may find all their places taken
	for name, call := range map[string]func(ctx context.Context, w *symwin.World, n int) error{
		"all-to-all": func(ctx context.Context, w *symwin.World, n int) error {
			return symwin.AllToAll(ctx, w.Team(), make([]byte, 2*n), make([]byte, 2*n))
		},
		"all-to-all of whole lines": func(ctx context.Context, w *symwin.World, n int) error {
			return symwin.AllToAll(ctx, w.Team(), make([]byte, 128*n), make([]byte, 128*n))
		},
		"scatter": func(ctx context.Context, w *symwin.World, n int) error {
			return symwin.Scatter(ctx, w.Team(), make([]byte, 256*n), make([]byte, 512*n), 0)
		},
		"reduce-scatter": func(ctx context.Context, w *symwin.World, n int) error {
			return symwin.ReduceScatter(ctx, w.Team(), make([]int32, n), make([]int32, 2*n), symwin.Sum)
		},
		"all-gather in place": func(ctx context.Context, w *symwin.World, n int) error {
			all := make([]byte, 16*n)
			return symwin.AllGather(ctx, w.Team(), all, all[8*n*w.Rank():][:8*n])
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
				for range 2 {
					for n := range calls {
						if err := call(ctx, w, n+1); err != nil {
							return err
						}
					}
				}
				if known := symwin.Known(w.Team()); known < most || known > calls {
					return fmt.Errorf("of %d calls, %d are known", calls, known)
				}
				return nil
			}))
		})
	}
}

// A call is kept once, however it is made again.
func TestACallIsKnownOnce(t *testing.T) {
	require.NoError(t, symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
		all, apart := make([]int32, 8), make([]int32, 4)
		for i := range 20 {
			src := all[4*w.Rank():][:4]
			if i%2 == 0 {
				src = apart
			}
			if err := symwin.AllGather(ctx, w.Team(), all, src); err != nil {
				return err
			}
			if err := symwin.Gather(ctx, w.Team(), all, src, 0); err != nil {
				return err
			}
			if err := symwin.Scatter(ctx, w.Team(), src, all, 0); err != nil {
				return err
			}
		}
		if kept := symwin.Kept(w.Team()); kept != 3 {
			return fmt.Errorf("%d calls are kept of 3", kept)
		}
		return nil
	}))
}

// So it is of calls that copies carry.
func TestLongCallsMadeAgain(t *testing.T) {
	require.NoError(t, symwin.Run(context.Background(), 3, func(ctx context.Context, w *symwin.World) error {
		for round := range 3 {
			for _, n := range []int{4000, 5000, 30000} {
				if err := callsOf[int32](ctx, w, n, round); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// A call that is known everywhere is still not another one.
func TestAKnownCallIsNoOther(t *testing.T) {
	for what, call := range map[string]func(ctx context.Context, w *symwin.World) error{
		"another type": func(ctx context.Context, w *symwin.World) error {
			if w.Rank() == 1 {
				return symwin.AllToAll(ctx, w.Team(), make([]float32, 2), make([]float32, 2))
			}
			return symwin.AllToAll(ctx, w.Team(), make([]int32, 2), make([]int32, 2))
		},
		"another length": func(ctx context.Context, w *symwin.World) error {
			n := 2 + 2*w.Rank()
			return symwin.AllToAll(ctx, w.Team(), make([]int32, n), make([]int32, n))
		},
		"another operation": func(ctx context.Context, w *symwin.World) error {
			if w.Rank() == 1 {
				return symwin.AllGather(ctx, w.Team(), make([]int32, 2), make([]int32, 1))
			}
			return symwin.AllToAll(ctx, w.Team(), make([]int32, 2), make([]int32, 2))
		},
		"another reduction": func(ctx context.Context, w *symwin.World) error {
			op := symwin.Sum
			if w.Rank() == 1 {
				op = symwin.Max
			}
			return symwin.AllReduce(ctx, w.Team(), make([]int32, 2), make([]int32, 2), op)
		},
	} {
		t.Run(what, func(t *testing.T) {
			err := symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
				for range 3 {
					for _, n := range []int{2, 4} {
						if err := callsOf[int32](ctx, w, n/2, 0); err != nil {
							return err
						}
						if err := callsOf[float32](ctx, w, n/2, 0); err != nil {
							return err
						}
						if err := symwin.AllReduce(ctx, w.Team(), make([]int32, n), make([]int32, n), symwin.Max); err != nil {
							return err
						}
					}
				}
				if err := call(ctx, w); err != nil {
					return err
				}
				return w.Team().Barrier(ctx)
			})
			require.ErrorIs(t, err, symwin.ErrMismatch)
		})
	}
}

// Arguments are looked at however often the call was right before.
func TestAKnownCallIsStillChecked(t *testing.T) {
	t.Run("lines", func(t *testing.T) { knownAndChecked(t, 1) })
	t.Run("copies", func(t *testing.T) { knownAndChecked(t, 4096) })
}

// knownAndChecked makes calls on parts of 2k elements.
func knownAndChecked(t *testing.T, k int) {
	err := symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
		m := make([]int32, 8*k)
		for range 3 {
			if err := symwin.AllToAll(ctx, w.Team(), m[:4*k], m[4*k:]); err != nil {
				return err
			}
			if err := symwin.AllGather(ctx, w.Team(), m[:4*k], m[4*k:6*k]); err != nil {
				return err
			}
			if err := symwin.AllReduce(ctx, w.Team(), m[:4*k], m[4*k:], symwin.Sum); err != nil {
				return err
			}
			for root := range 2 {
				if err := symwin.Gather(ctx, w.Team(), m[:4*k], m[4*k:6*k], root); err != nil {
					return err
				}
				if err := symwin.Scatter(ctx, w.Team(), m[:2*k], m[4*k:], root); err != nil {
					return err
				}
				if err := symwin.Reduce(ctx, w.Team(), m[:4*k], m[4*k:], symwin.Sum, root); err != nil {
					return err
				}
				if err := symwin.Broadcast(ctx, w.Team(), m[:4*k], root); err != nil {
					return err
				}
			}
		}
		for what, err := range map[string]error{
			"all-to-all": symwin.AllToAll(ctx, w.Team(), m[:4*k], m[3*k:7*k]),
			"all-gather": symwin.AllGather(ctx, w.Team(), m[:4*k], m[k:3*k]),
			"all-reduce": symwin.AllReduce(ctx, w.Team(), m[:4*k], m[k:5*k], symwin.Sum),
			"gather":     symwin.Gather(ctx, w.Team(), m[:4*k], m[k:3*k], w.Rank()),
			"scatter":    symwin.Scatter(ctx, w.Team(), m[3*k:5*k], m[4*k:], w.Rank()),
			"reduce":     symwin.Reduce(ctx, w.Team(), m[:4*k], m[k:5*k], symwin.Sum, w.Rank()),
			"broadcast":  symwin.Broadcast(ctx, w.Team(), m[:4*k], 1<<48),
		} {
			if !errors.Is(err, symwin.ErrUsage) {
				return fmt.Errorf("%s: %v", what, err)
			}
		}
		return w.Team().Barrier(ctx)
	})
	require.NoError(t, err)
}
