package symwin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
)

// TestTeamsGiveTheirEnginesBack: teams come and go, more of them than the window
// has room for at once.
func TestTeamsGiveTheirEnginesBack(t *testing.T) {
	require.NoError(t, symwin.Run(context.Background(), 3, func(ctx context.Context, w *symwin.World) error {
		for round := range 40 { // 16 MiB hold the engines of some eight
			team, err := w.Team().Split(ctx, 0, 0)
			if err != nil {
				return err
			}
			if err := oneOfEach(ctx, team, round); err != nil {
				return fmt.Errorf("team %d: %w", round, err)
			}
			if err := team.Close(ctx); err != nil {
				return err
			}
			if err := oneOfEach(ctx, team, round); !errors.Is(err, symwin.ErrClosed) {
				return fmt.Errorf("on a closed team: %v", err)
			}
		}
		return oneOfEach(ctx, w.Team(), 99)
	}))
}

// TestNoRoomForEnginesIsAgreed: the first collective of a team finds no room, as
// often as it is tried, and finds it once there is some.
func TestNoRoomForEnginesIsAgreed(t *testing.T) {
	require.NoError(t, symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
		// Room for the slots of small messages, not for the staging ring.
		win, err := symwin.Alloc[byte](ctx, w, 16<<20-384<<10)
		if err != nil {
			return err
		}
		for range 50 {
			if err := oneOfEach(ctx, w.Team(), 0); !errors.Is(err, symwin.ErrNoSpace) {
				return fmt.Errorf("without room: %v", err)
			}
		}
		if err := win.Free(ctx); err != nil {
			return err
		}
		return oneOfEach(ctx, w.Team(), 1)
	}))
}

// oneOfEach makes one exchange by each engine and checks it.
func oneOfEach(ctx context.Context, team *symwin.Team, round int) error {
	n, me := team.Size(), team.Rank()
	for _, size := range []int{8, 20000} {
		src, dst := make([]byte, n*size), make([]byte, n*size)
		for to := range n {
			copy(src[to*size:], message(size, round, me, to))
		}
		if err := symwin.AllToAll(ctx, team, dst, src); err != nil {
			return err
		}
		for from := range n {
			if !bytes.Equal(dst[from*size:(from+1)*size], message(size, round, from, me)) {
				return fmt.Errorf("rank %d got wrong bytes from %d", me, from)
			}
		}
	}
	return nil
}

// TestTeamsSideBySide: collectives of two teams of the same ranks from two
// goroutines, which meet the ranks in different orders.
func TestTeamsSideBySide(t *testing.T) {
	require.NoError(t, symwin.Run(context.Background(), 3, sideBySide))
}

func sideBySide(ctx context.Context, w *symwin.World) error {
	twin, err := w.Team().Split(ctx, 0, w.Size()-w.Rank()) // the same ranks the other way round
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		for round := range 30 {
			if err := oneOfEach(ctx, twin, round); err != nil {
				done <- fmt.Errorf("twin: %w", err)
				return
			}
		}
		done <- nil
	}()
	for round := range 30 {
		if err := oneOfEach(ctx, w.Team(), 1000+round); err != nil {
			<-done
			return err
		}
	}
	return <-done
}

// TestAnotherSizeIsTold, also if the one who sends less has all it needs and is
// gone by then.
func TestAnotherSizeIsTold(t *testing.T) {
	for _, sizes := range [][2]int{{8, 16}, {8, 100}, {8, 20000}, {2000, 5000}, {2000, 20000}, {10000, 20000}} {
		errs := make([]error, 2)
		require.NoError(t, symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
			if err := oneOfEach(ctx, w.Team(), 0); err != nil {
				return err
			}
			size := sizes[w.Rank()]
			errs[w.Rank()] = symwin.AllToAll(ctx, w.Team(), make([]byte, 2*size), make([]byte, 2*size))
			return nil
		}))
		require.ErrorIs(t, errs[1], symwin.ErrMismatch, "%v", sizes)
		if sizes != [2]int{8, 16} {
			require.ErrorIs(t, errs[0], symwin.ErrMismatch, "%v", sizes)
		}
	}
}
