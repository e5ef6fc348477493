package lla2a_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

// long plays dense epochs as fast as they go: words from each to each by Send and
// Recv, and larger elements from each to all, received at once and folded. Every
// byte is checked.
func long(ctx context.Context, w *symmem.World, epochs uint64) error {
	n, me := w.Size(), w.Rank()
	words, err := lla2a.Open[uint64](ctx, w.Team(), 1)
	if err != nil {
		return err
	}
	larger, err := lla2a.Open[[3]uint64](ctx, w.Team(), 1)
	if err != nil {
		return err
	}
	if err := startAt(ctx, w.Team(), words, lla2a.Lap-epochs/2); err != nil {
		return err
	}
	mixed := func(i uint64, from, to int) uint64 {
		x := (i<<10 | uint64(from)<<5 | uint64(to)) * 0x9e3779b97f4a7c15
		return x ^ x>>29
	}
	all := make([][3]uint64, n)
	for i := range epochs {
		if i%2 == 0 {
			for k := range n {
				to := (me + k) % n
				if err := words.Send(ctx, to, 0, mixed(i, me, to)); err != nil {
					return fmt.Errorf("epoch %d: %w", i, err)
				}
			}
			for k := range n {
				from := (me + n - k) % n
				v, err := words.Recv(ctx, from, 0)
				if err != nil || v != mixed(i, from, me) {
					return fmt.Errorf("epoch %d: rank %d received %x from %d: %w", i, me, v, from, err)
				}
			}
		} else {
			x := mixed(i, me, n)
			if err := larger.Bcast(ctx, 0, [3]uint64{x, ^x, x * 3}); err != nil {
				return fmt.Errorf("epoch %d: %w", i, err)
			}
			if i%4 == 1 {
				err = larger.RecvAll(ctx, 0, all)
			} else {
				_, err = lla2a.RecvReduce(ctx, larger, 0, 0, func(from int, v [3]uint64) int {
					all[from] = v
					return from + 1
				})
			}
			if err != nil {
				return fmt.Errorf("epoch %d: %w", i, err)
			}
			for from, v := range all {
				if x := mixed(i, from, n); v != [3]uint64{x, ^x, x * 3} {
					return fmt.Errorf("epoch %d: rank %d received %x from %d", i, me, v, from)
				}
			}
		}
		if err := errors.Join(words.EndEpoch(ctx), larger.EndEpoch(ctx)); err != nil {
			return fmt.Errorf("epoch %d: %w", i, err)
		}
	}
	return errors.Join(words.Close(ctx), larger.Close(ctx))
}

// TestLongBetweenProcesses: 16 ranks on the CPUs there are, 10⁵ epochs.
func TestLongBetweenProcesses(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("seconds without the race detector, minutes with it")
	}
	ranktest.Start(t, 16, "long").Wait()
}
