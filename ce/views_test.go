package ce_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

// views: rounds with slow readers and two sets held at once, every element
// checked.
func views(ctx context.Context, w *symmem.World) error {
	const block = 777
	n, me := w.Size(), w.Rank()
	v, err := ce.OpenViews[uint64](ctx, w.Team(), block)
	if err != nil {
		return err
	}
	value := func(round, from, to, i int) uint64 {
		return uint64(round)<<40 | uint64(from)<<30 | uint64(to)<<20 | uint64(i)
	}
	check := func(s *ce.Seen[uint64], round int) error {
		for from := range n {
			part := s.From(from)
			if len(part) != block {
				return fmt.Errorf("a view of %d elements", len(part))
			}
			for i, x := range part {
				if x != value(round, from, me, i) {
					return fmt.Errorf("round %d, rank %d, from %d: %x at %d", round, me, from, x, i)
				}
			}
		}
		return nil
	}
	var before *ce.Seen[uint64]
	for round := range 60 / n {
		b, err := v.Buffer(ctx)
		if err != nil {
			return err
		}
		if again, err := v.Buffer(ctx); err != nil || &again[0] != &b[0] {
			return fmt.Errorf("a second Buffer: %v", err)
		}
		for to := range n {
			for i := range block {
				b[to*block+i] = value(round, me, to, i)
			}
		}
		s, err := v.Exchange(ctx)
		if err != nil {
			return err
		}
		if before != nil { // now both halves are held
			if _, err := v.Buffer(ctx); !errors.Is(err, ce.ErrViewsHeld) || !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("a third: %v", err)
			}
			if err := check(before, round-1); err != nil {
				return err
			}
			before.Release()
			before.Release()
			if before.From(0) != nil {
				return errors.New("a view after Release")
			}
		}
		if round%7 == me {
			time.Sleep(time.Millisecond)
		}
		if err := check(s, round); err != nil {
			return err
		}
		before = s
		if round%3 == 0 {
			before.Release()
			before = nil
		}
	}
	return v.Close(ctx)
}

func TestViews(t *testing.T) {
	for _, n := range worlds {
		run(t, n, views)
	}
	ranktest.Start(t, 3, "views").Wait()
}

func TestViewsRefuse(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		for _, block := range []int{-1, 1 << 60, 16 << 20} {
			if _, err := ce.OpenViews[uint64](ctx, w.Team(), block); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("blocks of %d: %v", block, err)
			}
		}
		if _, err := ce.OpenViews[string](ctx, w.Team(), 1); !errors.Is(err, symmem.ErrUsage) {
			return fmt.Errorf("strings: %v", err)
		}
		if _, err := ce.OpenViews[byte](ctx, w.Team(), 6<<20); !errors.Is(err, symmem.ErrNoSpace) {
			return fmt.Errorf("more than a window holds: %v", err)
		}
		v, err := ce.OpenViews[byte](ctx, w.Team(), 3)
		if err != nil {
			return err
		}
		if _, err := v.Exchange(ctx); !errors.Is(err, symmem.ErrUsage) {
			return fmt.Errorf("Exchange without Buffer: %v", err)
		}
		// A peer that has not released makes Buffer wait, and that is local.
		for round := range 3 {
			if round == 2 && w.Rank() == 0 {
				short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
				defer cancel()
				if _, err := v.Buffer(short); !errors.Is(err, symmem.ErrTimeout) {
					return fmt.Errorf("while the peer holds on: %v", err)
				}
				if err := w.Team().Barrier(ctx); err != nil {
					return err
				}
			} else if round == 2 {
				if err := w.Team().Barrier(ctx); err != nil {
					return err
				}
				held.Release()
			}
			if _, err := v.Buffer(ctx); err != nil {
				return err
			}
			s, err := v.Exchange(ctx)
			if err != nil {
				return err
			}
			if round == 0 && w.Rank() == 1 {
				held = s
				continue
			}
			s.Release()
		}
		if err := v.Close(ctx); err != nil {
			return err
		}
		if _, err := v.Buffer(ctx); !errors.Is(err, symmem.ErrClosed) {
			return fmt.Errorf("Buffer after Close: %v", err)
		}
		return v.Close(ctx)
	})
}

// held is rank 1's, in TestViewsRefuse.
var held *ce.Seen[byte]

func TestViewsOfDifferentSizes(t *testing.T) {
	errs := make([]error, 3)
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		_, errs[w.Rank()] = ce.OpenViews[uint32](ctx, w.Team(), 10+w.Rank()/2)
		return nil
	})
	for _, err := range errs {
		var e *symmem.MismatchError
		require.ErrorAs(t, err, &e)
		require.Equal(t, []int{2}, e.Odd)
	}
}
