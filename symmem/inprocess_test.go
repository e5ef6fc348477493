package symmem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

func TestBarrierInProcess(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 16} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			counts := make([]int, n)
			err := symmem.Run(context.Background(), n, func(ctx context.Context, w *symmem.World) error {
				for i := range 200 {
					counts[w.Rank()]++
					if err := w.Team().Barrier(ctx); err != nil {
						return err
					}
					for r, c := range counts {
						if c != i+1 {
							return fmt.Errorf("round %d: rank %d had counted %d", i, r, c)
						}
					}
					if err := w.Team().Barrier(ctx); err != nil {
						return err
					}
				}
				return nil
			})
			require.NoError(t, err)
		})
	}
}

func TestMismatchInProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	errs := make([]error, 3)
	err := symmem.Run(ctx, 3, func(ctx context.Context, w *symmem.World) error {
		if w.Rank() == 1 {
			_, errs[1] = w.Team().Split(ctx, 0, 0)
		} else {
			errs[w.Rank()] = w.Team().Barrier(ctx)
		}
		return nil
	})
	require.NoError(t, err)
	for r, e := range errs {
		t.Log(r, e)
		require.True(t, errors.Is(e, symmem.ErrMismatch), "rank %d: %v", r, e)
	}
}
