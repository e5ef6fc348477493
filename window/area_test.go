package window_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

func opening(count uint64) symmem.Record {
	return symmem.Record{Op: symmem.OpOpen, Count: count}
}

// Each member writes a block into each member's area, several times over, and
// each time the area is opened anew it must be zero.
func TestAreaReachesEveryMember(t *testing.T) {
	const block = 1000
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			run(t, n, func(ctx context.Context, w *symmem.World) error {
				team := w.Team()
				for round := range 4 {
					a, err := window.OpenArea(ctx, team, opening(0), int64(n*block))
					if err != nil {
						return err
					}
					if len(a.Local()) != n*block || cap(a.Peer(0)) != n*block || !zero(a.Local()) {
						return fmt.Errorf("round %d: %d bytes, capacity %d, zero %v", round, len(a.Local()), cap(a.Peer(0)), zero(a.Local()))
					}
					if err := team.Barrier(ctx); err != nil { // all have looked
						return err
					}
					for to := range n {
						pattern(a.Peer(to)[team.Rank()*block:][:block], team.Rank(), to, round)
					}
					if err := team.Barrier(ctx); err != nil {
						return err
					}
					want := make([]byte, block)
					for from := range n {
						pattern(want, from, team.Rank(), round)
						if !bytes.Equal(want, a.Local()[from*block:][:block]) {
							return fmt.Errorf("round %d: block of %d differs", round, from)
						}
					}
					if err := a.Close(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// Members whose windows are filled differently open areas at different offsets,
// several teams at the same time.
func TestAreasOfSubTeamsLieWhereThereIsRoom(t *testing.T) {
	const n = 6
	run(t, n, func(ctx context.Context, w *symmem.World) error {
		// Rank r is in the teams {r, r+1, …}: color 0 for all above k.
		var teams []*symmem.Team
		for k := range n {
			color := 0
			if w.Rank() < k {
				color = -1
			}
			team, err := w.Team().Split(ctx, color, -w.Rank())
			if err != nil {
				return err
			}
			if team != nil {
				teams = append(teams, team)
			}
		}
		errs := make([]error, len(teams))
		var wg sync.WaitGroup
		for k, team := range teams {
			wg.Go(func() { errs[k] = useArea(ctx, team, 5000+100*k) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func useArea(ctx context.Context, team *symmem.Team, block int) error {
	for round := range 5 {
		a, err := window.OpenArea(ctx, team, opening(0), int64(block*team.Size()))
		if err != nil {
			return err
		}
		b, err := window.OpenArea(ctx, team, opening(0), int64(block))
		if err != nil {
			return err
		}
		if !zero(a.Local()) {
			return fmt.Errorf("team %d: area is not zero", team.Number())
		}
		if err := team.Barrier(ctx); err != nil {
			return err
		}
		for to := range team.Size() {
			pattern(a.Peer(to)[team.Rank()*block:][:block], team.Rank(), to, round+team.Number())
		}
		pattern(b.Local(), 0, 0, round)
		if err := team.Barrier(ctx); err != nil {
			return err
		}
		want := make([]byte, block)
		for from := range team.Size() {
			pattern(want, from, team.Rank(), round+team.Number())
			if !bytes.Equal(want, a.Local()[from*block:][:block]) {
				return fmt.Errorf("team %d: block of %d differs", team.Number(), from)
			}
		}
		if err := a.Close(ctx); err != nil {
			return err
		}
		if err := b.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

func TestAreaWithoutRoomIsRefusedOnAllAndTheTeamGoesOn(t *testing.T) {
	const n = 4
	run(t, n, func(ctx context.Context, w *symmem.World) error {
		// Rank 2 alone has 12 of its 16 MiB taken.
		color := -1
		if w.Rank() == 2 {
			color = 0
		}
		alone, err := w.Team().Split(ctx, color, 0)
		if err != nil {
			return err
		}
		var hog *window.Area
		if alone != nil {
			if hog, err = window.OpenArea(ctx, alone, opening(0), 12<<20); err != nil {
				return err
			}
		}
		backwards, err := w.Team().Split(ctx, 0, -w.Rank()) // errors name world ranks
		if err != nil {
			return err
		}
		_, err = window.OpenArea(ctx, backwards, opening(0), 8<<20)
		var short *symmem.NoSpaceError
		if !errors.As(err, &short) || short.Rank != 2 || short.Need != 8<<20 || short.Have != 4<<20 {
			return fmt.Errorf("want of space: %v", err)
		}
		if hog != nil {
			if err := hog.Close(ctx); err != nil {
				return err
			}
		}
		for range 3 { // nothing of the refused ones stays taken
			a, err := window.OpenArea(ctx, backwards, opening(0), 16<<20)
			if err != nil {
				return err
			}
			if err := a.Close(ctx); err != nil {
				return err
			}
			if err := a.Close(ctx); !errors.Is(err, symmem.ErrClosed) {
				return fmt.Errorf("second close: %v", err)
			}
		}
		return nil
	})
}

func TestAreaOfAnotherSizeOrCallNamesTheOddRank(t *testing.T) {
	for _, odd := range []string{"size", "call"} {
		t.Run(odd, func(t *testing.T) {
			errs := make([]error, 4)
			run(t, 4, func(ctx context.Context, w *symmem.World) error {
				call, size := opening(8), int64(4096)
				if w.Rank() == 1 && odd == "size" {
					size++
				} else if w.Rank() == 1 {
					call = opening(16)
				}
				_, errs[w.Rank()] = window.OpenArea(ctx, w.Team(), call, size)
				return nil
			})
			for r, err := range errs {
				require.ErrorIs(t, err, symmem.ErrMismatch, "rank %d", r)
				require.ErrorContains(t, err, "rank 1", "rank %d", r)
			}
		})
	}
}
