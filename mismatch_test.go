package symwin_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
)

// Sizes that take equally many lines, or fewer on one rank, are told apart all
// the same, on every rank that gets them.
func TestMismatchOfSmallSizes(t *testing.T) {
	for _, sizes := range [][2]int{{3, 8}, {8, 16}, {0, 8}, {0, 1}, {64, 57}} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			errs := make([]error, 2)
			require.NoError(t, symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
				if err := symwin.AllToAll(ctx, w.Team(), make([]byte, 2), make([]byte, 2)); err != nil {
					return err
				}
				n := 2 * sizes[w.Rank()]
				errs[w.Rank()] = symwin.AllToAll(ctx, w.Team(), make([]byte, n), make([]byte, n))
				return nil
			}))
			for r, err := range errs {
				require.ErrorIs(t, err, symwin.ErrMismatch, "rank %d", r)
			}
		})
	}
}
