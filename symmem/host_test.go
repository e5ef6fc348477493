package symmem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/symmem"
)

func init() {
	// Rank 0 stays away from the barrier in which the others wait; says what ended
	// them.
	scenarios["rank0-sleeps"] = inWorld(func(ctx context.Context, w *symmem.World) error {
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		fmt.Println("through")
		if w.Rank() == 0 {
			<-ctx.Done()
			return ctx.Err()
		}
		err := w.Team().Barrier(ctx)
		fmt.Println("ended:", err)
		for _, class := range []error{symmem.ErrAborted, symmem.ErrRankFailed} {
			if errors.Is(err, class) {
				fmt.Println("class:", class)
			}
		}
		return nil
	})
}

// hosted starts a job as a launcher does.
func hosted(t *testing.T, n int, scenario string) (*symmem.Host, *ranktest.Job) {
	t.Helper()
	j := ranktest.New(t)
	h, err := symmem.NewHost(j.Name, symmem.Geometry{Size: n, Window: 4 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	for r := range n {
		j.Add(r, n, scenario, h.Env(r)...)
	}
	return h, j
}

// observed waits until a snapshot shows what is wanted.
func observed(t *testing.T, h *symmem.Host, want func(symmem.Snapshot) bool) symmem.Snapshot {
	t.Helper()
	var s symmem.Snapshot
	if !ranktest.Within(func() bool { s = h.Observe(); return want(s) }) {
		text, _ := json.MarshalIndent(s, "", " ")
		t.Fatalf("never seen; last: %s", text)
	}
	return s
}

func TestHostSeesWhoWaitsForWhom(t *testing.T) {
	h, j := hosted(t, 3, "rank0-sleeps")
	for _, r := range j.Ranks {
		r.Await(t, "through")
	}
	s := observed(t, h, func(s symmem.Snapshot) bool { return len(s.Ranks[1].Waits) == 1 && len(s.Ranks[2].Waits) == 1 })
	require.Equal(t, j.Name, s.Job)
	require.Equal(t, shm.Name(j.Name), s.Name)
	require.Nil(t, s.Abort)
	for r, rank := range s.Ranks {
		require.Equal(t, symmem.Alive, rank.Life)
		require.Equal(t, j.Ranks[r].Pid(), rank.Pid)
	}
	require.EqualValues(t, 1, s.Ranks[0].Call.Sequence)
	require.Empty(t, s.Ranks[0].Waits)
	for _, r := range []int{1, 2} {
		wait := s.Ranks[r].Waits[0]
		require.Equal(t, "barrier #2 on team 0", wait.Call.String())
		require.True(t, slices.Contains(wait.Missing, 0) && !slices.Contains(wait.Missing, r), "%v", wait.Missing)
		require.Positive(t, wait.Since)
		require.Equal(t, wait.Call, s.Ranks[r].Call)
		require.Len(t, s.Ranks[r].Records, 2)
	}
	// Of a wait that goes on only the late are left, and it grows older.
	older := observed(t, h, func(s symmem.Snapshot) bool {
		return len(s.Ranks[1].Waits) == 1 && slices.Equal(s.Ranks[1].Waits[0].Missing, []int{0})
	})
	require.GreaterOrEqual(t, older.Ranks[1].Waits[0].Since, s.Ranks[1].Waits[0].Since)

	// The name is gone since all have come, and the job is found all the same.
	require.False(t, older.Linked)
	_, err := os.Stat(filepath.Join(shm.Dir(), shm.Name(j.Name)))
	require.ErrorIs(t, err, fs.ErrNotExist)
	regions, err := symmem.Regions()
	require.NoError(t, err)
	seen := slices.ContainsFunc(regions, func(f symmem.Found) bool {
		s, err := symmem.Observe(f.Pid, f.Fd)
		return err == nil && s.Job == j.Name && len(s.Ranks[2].Waits) == 1
	})
	require.True(t, seen, "found by its descriptors")

	h.Abort("the operator has had enough: " + strings.Repeat("x", 300))
	for _, r := range j.Ranks[1:] {
		require.Zero(t, r.Wait(), r.Output())
		require.Contains(t, r.Output(), "ended: the launcher aborted the world: the operator has had enough: xxx")
		require.Contains(t, r.Output(), "class: "+symmem.ErrAborted.Error())
	}
	h.Abort("too late")
	s = h.Observe()
	require.Equal(t, symmem.AbortProgram, s.Abort.Kind)
	require.Equal(t, -1, s.Abort.Author)
	require.Len(t, s.Abort.Text, 240)
	require.Equal(t, []symmem.Life{symmem.Alive, symmem.Left, symmem.Left}, []symmem.Life{h.Life(0), h.Life(1), h.Life(2)})
	require.Empty(t, s.Ranks[1].Waits, "nobody waits any more")
}

func TestHostHasLostARank(t *testing.T) {
	h, j := hosted(t, 3, "rank0-sleeps")
	for _, r := range j.Ranks {
		r.Await(t, "through")
	}
	h.Lost(0, "killed by SIGTEAPOT")
	for _, r := range j.Ranks[1:] {
		require.Zero(t, r.Wait(), r.Output())
		require.Contains(t, r.Output(), "ended: rank 0 failed: killed by SIGTEAPOT")
		require.Contains(t, r.Output(), "class: "+symmem.ErrRankFailed.Error())
	}
	s := h.Observe()
	require.Equal(t, symmem.AbortInfo{Author: -1, Kind: symmem.AbortRankFailed, Ranks: []int{0}, Text: "killed by SIGTEAPOT"}, *s.Abort)
}

// TestHostReadsLastWords: the ranks are all gone, the launcher still sees what
// they did.
func TestHostReadsLastWords(t *testing.T) {
	h, j := hosted(t, 2, "rank0-sleeps")
	for _, r := range j.Ranks {
		r.Await(t, "through")
	}
	observed(t, h, func(s symmem.Snapshot) bool { return len(s.Ranks[1].Waits) == 1 })
	for _, r := range []int{1, 0} { // rank 0 looks at nothing
		j.Ranks[r].Signal(9)
		require.Equal(t, 137, j.Ranks[r].Wait())
	}
	s := h.Observe()
	require.Equal(t, symmem.Dead, s.Ranks[0].Life)
	require.Equal(t, symmem.Dead, s.Ranks[1].Life)
	require.Equal(t, "barrier #2 on team 0", s.Ranks[1].Call.String())
	require.Equal(t, []int{0}, s.Ranks[1].Waits[0].Missing)
	done, err := h.Settle(false)
	require.NoError(t, err)
	require.True(t, done)
}

// TestHostGivesUp: ranks that come to a job which was given up are told so.
func TestHostGivesUp(t *testing.T) {
	j := ranktest.New(t)
	h, err := symmem.NewHost(j.Name, symmem.Geometry{Size: 3, Window: 4 << 20})
	require.NoError(t, err)
	_, err = symmem.NewHost(j.Name, symmem.Geometry{Size: 3, Window: 4 << 20})
	require.ErrorIs(t, err, fs.ErrExist)
	a := j.Add(0, 3, "join-only", h.Env(0)...)
	observed(t, h, func(s symmem.Snapshot) bool { return s.Ranks[0].Life == symmem.Alive })
	done, err := h.Settle(false)
	require.NoError(t, err)
	require.False(t, done, "two are missing")
	h.Abort("rank 1 could not be started")
	require.Equal(t, 1, a.Wait())
	require.Contains(t, a.Output(), "the launcher aborted the world: rank 1 could not be started")
	b := j.Add(1, 3, "join-only", h.Env(1)...)
	require.Equal(t, 1, b.Wait())
	require.NoError(t, h.Close())
	require.NoError(t, h.Close())
	c := j.Add(2, 3, "join-only", h.Env(2)...)
	require.Equal(t, 1, c.Wait())
	require.Contains(t, c.Output(), "is not being started any more")
	// All a closed host still does is nothing.
	h.Abort("late")
	h.Lost(1, "late")
	require.Equal(t, symmem.NotCome, h.Life(0))
	require.Equal(t, j.Name, h.Observe().Job)
}
