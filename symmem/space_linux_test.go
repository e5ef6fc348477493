package symmem_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/symmem"
)

func init() {
	scenarios["no-space"] = func(ctx context.Context) error {
		_, err := symmem.Join(ctx)
		var e *symmem.NoSpaceError
		if !errors.Is(err, symmem.ErrNoSpace) || !errors.As(err, &e) || !strings.HasPrefix(e.Where, shm.Dir()) || e.Have >= e.Need {
			return fmt.Errorf("join on a full file system: %v", err)
		}
		return nil
	}
	// Reserves its own window until there is no more, and gives it back.
	scenarios["reserve"] = func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error {
			fmt.Println("backing", w.Geometry().Backing)
			mine := w.Window(w.Rank())
			if w.Rank() == 0 {
				if err := w.Reserve(0, 1<<20); err != nil {
					return err
				}
				mine[0], mine[1<<20-1] = 1, 2
				err := w.Reserve(1<<20, 63<<20)
				fmt.Println("63 MiB:", err)
				if mine[0] != 1 || mine[1<<20-1] != 2 {
					return errors.New("what was reserved before has changed")
				}
				if err == nil {
					copy(mine[40<<20:], "far out")
				}
			}
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			if theirs := w.Window(0); w.Rank() == 1 && (theirs[0] != 1 || theirs[1<<20-1] != 2) {
				return errors.New("rank 1 does not see rank 0's window")
			}
			return w.Team().Barrier(ctx)
		})
	}
}

func TestFullFileSystem(t *testing.T) {
	if !ranktest.OnTmpfs(t, "size=8m") {
		return
	}
	// Full but for a few pages: the header fits, the control blocks do not.
	free, err := shm.Free()
	require.NoError(t, err)
	full := filepath.Join(shm.Dir(), "somebody-elses-data")
	require.NoError(t, os.WriteFile(full, make([]byte, free-64<<10), 0o600))
	for _, backing := range []string{"auto", "shm", "memfd"} {
		ranktest.Start(t, 3, "no-space", "SYMWIN_BACKING="+backing).Wait()
	}
	_, err = symmem.NewHost("full", symmem.Geometry{Size: 16, Window: 64 << 20})
	require.ErrorIs(t, err, symmem.ErrNoSpace)
	require.ErrorContains(t, err, "have 64 KiB; free some")
	left, err := os.ReadDir(shm.Dir())
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is left of the attempts")
	require.NoError(t, os.Remove(full))
	ranktest.Start(t, 3, "barriers").Wait()
}

// TestSmallFileSystem: 64 MiB, a container's default. auto puts the windows
// elsewhere; shm, asked for, is used until it is full.
func TestSmallFileSystem(t *testing.T) {
	if !ranktest.OnTmpfs(t, "size=64m") {
		return
	}
	j := ranktest.Start(t, 2, "reserve")
	j.Wait()
	require.Contains(t, j.Ranks[0].Output(), "backing memfd")
	require.Contains(t, j.Ranks[0].Output(), "63 MiB: <nil>")
	j = ranktest.Start(t, 2, "reserve", "SYMWIN_BACKING=shm")
	j.Wait()
	require.Contains(t, j.Ranks[0].Output(), "backing shm")
	require.Regexp(t, `63 MiB: rank 0: not enough space in .*: need 63 MiB, have \d+`, j.Ranks[0].Output())
	h, err := symmem.NewHost("small", symmem.Geometry{Size: 2, Window: 64 << 20})
	require.NoError(t, err)
	require.Equal(t, symmem.BackingMemfd, h.Geometry().Backing)
	require.NoError(t, h.Close())
}

func TestBackings(t *testing.T) {
	for _, backing := range []string{"shm", "memfd"} {
		j := ranktest.Start(t, 3, "reserve", "SYMWIN_BACKING="+backing)
		j.Wait()
		require.Contains(t, j.Ranks[2].Output(), "backing "+backing)
		ranktest.Start(t, 3, "split", "SYMWIN_BACKING="+backing).Wait()
		ranktest.Start(t, 3, "barrier-then-exit", "SYMWIN_BACKING="+backing).Wait()
	}
}

// TestMemfdOfADeadCreator: the windows' memory is found through the creator, so
// it must live until all have come; who died or is missing is said, not what
// became of a descriptor, and nothing is left.
func TestMemfdOfADeadCreator(t *testing.T) {
	j := ranktest.New(t)
	a := j.Add(0, 2, "join-only", "SYMWIN_BACKING=memfd")
	awaitCome(t, j.Name, 1)
	a.Signal(9)
	a.Wait()
	b := j.Add(1, 2, "join-only", "SYMWIN_BACKING=memfd", "SYMWIN_JOIN_TIMEOUT=1")
	require.Equal(t, 1, b.Wait())
	require.Regexp(t, "rank 0 .*did not come|died while joining", b.Output()) // of a new region, or of the dead one
}
