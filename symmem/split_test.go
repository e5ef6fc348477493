package symmem_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/symmem"
)

// Two teams split from two goroutines, in either order on each rank: neither
// waits for the other.
func TestSplitsOfTwoTeamsAtOnce(t *testing.T) {
	require.NoError(t, symmem.Run(context.Background(), 3, func(ctx context.Context, w *symmem.World) error {
		twin, err := w.Team().Split(ctx, 0, 0)
		if err != nil {
			return err
		}
		teams := []*symmem.Team{w.Team(), twin}
		done := make(chan error)
		for i := range teams {
			go func() {
				for range 20 {
					sub, err := teams[(i+w.Rank())%2].Split(ctx, 0, 0)
					if err == nil {
						err = errors.Join(sub.Barrier(ctx), sub.Close(ctx))
					}
					if err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		return errors.Join(<-done, <-done)
	}))
}

// TestAnyAbortWordEndsASubTeam: one, too, whose bits are those of the word that says that
// the team is intact.
func TestAnyAbortWordEndsASubTeam(t *testing.T) {
	require.NoError(t, symmem.Run(context.Background(), 1, func(ctx context.Context, w *symmem.World) error {
		sub, err := w.Team().Split(ctx, 0, 0)
		if err != nil {
			return err
		}
		sub.WithAbortAsIntact(func() { require.True(t, sub.Ended()) })
		require.False(t, sub.Ended())
		return sub.Close(ctx)
	}))
}
