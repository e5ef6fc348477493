package window_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// A rank that gives up inside an Alloc ends the world's team, and says so to the
// others; windows are of that team, other teams go on.
func TestGivingUpAnAllocRevokesTheTeam(t *testing.T) {
	const n = 3
	errs := make([]error, n)
	run(t, n, func(ctx context.Context, w *symmem.World) error {
		pair, err := w.Team().Split(ctx, w.Rank()/2, 0) // {0, 1}, {2}
		if err != nil {
			return err
		}
		win, err := window.Alloc[byte](ctx, w, 100)
		if err != nil {
			return err
		}
		switch w.Rank() {
		case 0:
			_, errs[0] = window.Alloc[byte](ranktest.Inside(ctx, context.DeadlineExceeded), w, 1<<20)
		case 1:
			_, errs[1] = window.Alloc[byte](ctx, w, 1<<20)
		case 2: // comes when it is over
			for w.Team().Usable() == nil {
				time.Sleep(time.Millisecond)
			}
			_, errs[2] = window.Alloc[byte](ctx, w, 1<<20)
		}
		if err := win.Put(0, 0, []byte{1}); !errors.Is(err, symmem.ErrAborted) {
			return fmt.Errorf("put after the team's end: %v", err)
		}
		for range 3 {
			a, err := window.OpenArea(ctx, pair, opening(1), 1<<20)
			if err != nil {
				return fmt.Errorf("another team: %w", err)
			}
			if !zero(a.Local()) {
				return errors.New("not zero")
			}
			if err := a.Close(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	require.ErrorIs(t, errs[0], symmem.ErrTimeout)
	for r := 1; r < n; r++ {
		require.ErrorIs(t, errs[r], symmem.ErrAborted, "rank %d", r)
		require.ErrorContains(t, errs[r], "rank 0", "rank %d", r)
	}
}

// A member that gives up an OpenArea may be written to by members that have seen
// its vote: no other team gets that memory.
func TestGivingUpAnOpeningKeepsTheMemory(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		color := 0
		if w.Rank() == 2 {
			color = -1
		}
		var pairs [2]*symmem.Team
		for i := range pairs {
			var err error
			if pairs[i], err = w.Team().Split(ctx, color, 0); err != nil {
				return err
			}
		}
		if color == 0 {
			if w.Rank() == 0 {
				short := ranktest.Inside(ctx, context.DeadlineExceeded)
				if _, err := window.OpenArea(short, pairs[0], opening(1), 9<<20); !errors.Is(err, symmem.ErrTimeout) {
					return fmt.Errorf("nobody came, and yet: %v", err)
				}
			}
			if err := pairs[1].Barrier(ctx); err != nil {
				return err
			}
			if _, err := window.OpenArea(ctx, pairs[0], opening(1), 9<<20); !errors.Is(err, symmem.ErrAborted) {
				return fmt.Errorf("a revoked team: %v", err)
			}
		}
		_, err := window.OpenArea(ctx, w.Team(), opening(2), 9<<20)
		var short *symmem.NoSpaceError
		if !errors.As(err, &short) || short.Rank != 0 || short.Have != 7<<20 {
			return fmt.Errorf("the memory was given out: %v", err)
		}
		return nil
	})
}

func TestWaitingForWhoLeft(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[byte](ctx, w, 1)
		if err != nil || w.Rank() == 1 {
			return err
		}
		_, err = win.WaitSignal(ctx, 1, 0, 1)
		var left *symmem.LeftError
		if !errors.As(err, &left) || left.Ranks[0] != 1 {
			return fmt.Errorf("rank 1 left, and yet: %v", err)
		}
		return nil
	})
}
