package symmem

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRunTellsTheCause: also those who see the death of a rank before the rank has
// said why it died. The lock stands for its goroutine not being run in between.
func TestRunTellsTheCause(t *testing.T) {
	cause := errors.New("the cause")
	var seen error
	err := Run(t.Context(), 2, func(ctx context.Context, w *World) error {
		if w.Rank() == 1 {
			w.abortMu.Lock()
			time.AfterFunc(20*time.Millisecond, w.abortMu.Unlock)
			return cause
		}
		seen = w.Team().Barrier(ctx)
		return nil
	})
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, seen, ErrRankFailed)
	require.ErrorContains(t, seen, cause.Error())
}
