//go:build symwindebug

package lla2a_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

// says reports how err differs from an ErrUsage with these words in it, or nil.
func says(err error, words ...string) error {
	if !errors.Is(err, symmem.ErrUsage) {
		return fmt.Errorf("no misuse found: %v", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			return fmt.Errorf("%q is missing in %q", w, err)
		}
	}
	return nil
}

// TestASlotSentTwiceIsFound, by each way to send, and not after an EndEpoch.
func TestASlotSentTwiceIsFound(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[[100]byte](ctx, w.Team(), 2)
		if err != nil {
			return err
		}
		v := value[[100]byte](1, 2, 3, 4)
		for i := range uint64(3) {
			me, last := fmt.Sprintf("rank %d ", w.Rank()), fmt.Sprintf("epoch %d", i)
			if err := errors.Join(s.Send(ctx, 2, 1, v), s.Bcast(ctx, 0, v)); err != nil {
				return err
			}
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			before := s.BlockWords()
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			other := value[[100]byte](9, 9, 9, 9)
			if err := errors.Join(
				says(s.Send(ctx, 2, 1, other), me, "slot 1", "rank 2", last),
				says(s.Send(ctx, 1, 0, other), me, "slot 0", "rank 1", last),
				says(s.Bcast(ctx, 1, other), me, "slot 1", "rank 2", last),
				says(s.Bcast(ctx, 0, other), me, "slot 0", "rank 0", last),
			); err != nil {
				return err
			}
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			for at, word := range s.BlockWords() {
				if word != before[at] {
					return fmt.Errorf("word %d was stored", at)
				}
			}
			if err := errors.Join(w.Team().Barrier(ctx), s.EndEpoch(ctx)); err != nil {
				return err
			}
		}
		return s.Close(ctx)
	})
}

// TestASkippedEpochIsFound: rank 1 ends an epoch without doing its part in it.
// Whoever waits for that part is told at once; all are told at Close.
func TestASkippedEpochIsFound(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[uint64](ctx, w.Team(), 2)
		if err != nil {
			return err
		}
		for i := range uint64(4) {
			if w.Rank() == 1 && i == 2 {
				if err := s.EndEpoch(ctx); err != nil {
					return err
				}
			}
			if err := s.Bcast(ctx, 1, i); err != nil {
				return err
			}
			if w.Rank() != 1 && i == 2 {
				_, one := s.Recv(ctx, 1, 1)
				_, reduced := lla2a.RecvReduce(ctx, s, 1, 0, func(int, uint64) int { return 0 })
				for _, err := range []error{one, reduced, s.RecvAll(ctx, 1, make([]uint64, 3))} {
					if err := says(err, fmt.Sprintf("rank %d ", w.Rank()), "slot 1 of rank 1", "epoch 2"); err != nil {
						return err
					}
				}
			}
			if err := s.EndEpoch(ctx); err != nil {
				return err
			}
		}
		return says(s.Close(ctx), "rank 0 has ended 4 epochs", "rank 1 has ended 5")
	})
}

// TestAForgottenEndIsFound: rank 1 does not end an epoch.
func TestAForgottenEndIsFound(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[uint64](ctx, w.Team(), 1)
		if err != nil {
			return err
		}
		for i := range uint64(2) {
			err := s.Send(ctx, 1-w.Rank(), 0, i)
			if w.Rank() == 1 && i == 1 {
				err = says(err, "rank 1 sends slot 0 to rank 0 twice in epoch 0", "EndEpoch")
			}
			if err != nil {
				return err
			}
			if w.Rank() == 0 {
				if err := s.EndEpoch(ctx); err != nil {
					return err
				}
			}
		}
		return says(s.Close(ctx), "rank 0 has ended 2", "rank 1 has ended 0 epochs")
	})
}
