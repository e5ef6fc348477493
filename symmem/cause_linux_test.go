package symmem_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

func init() {
	// Ranks that make barriers until one fails, and then end as most programs do:
	// with a message, and without Close.
	scenarios["until-it-fails"] = func(ctx context.Context) error {
		w, err := symmem.Join(ctx)
		if err != nil {
			return err
		}
		for running := false; err == nil; running = true {
			if err = w.Team().Barrier(ctx); err == nil && !running {
				fmt.Println("running")
			}
		}
		var dead *symmem.RankFailedError
		if errors.As(err, &dead) {
			fmt.Println("dead:", dead.Ranks)
		}
		fmt.Println("late:", errors.Is(err, symmem.ErrTimeout))
		fmt.Println(err)
		os.Exit(1)
		return nil
	}
}

// running starts n ranks that make barriers, and returns when all do.
func running(t *testing.T, n int, extra ...string) *ranktest.Job {
	t.Helper()
	j := ranktest.Start(t, n, "until-it-fails", extra...)
	for _, r := range j.Ranks {
		r.Await(t, "running")
	}
	return j
}

// TestWhoEndsOfAnAbortIsNotItsCause: who looks last does not name those who ended
// because of the death as having died.
func TestWhoEndsOfAnAbortIsNotItsCause(t *testing.T) {
	j := running(t, 4)
	j.Ranks[2].Signal(syscall.SIGSTOP)
	j.Ranks[1].Signal(syscall.SIGKILL)
	for _, r := range []int{1, 0, 3} {
		j.Ranks[r].Wait()
	}
	j.Ranks[2].Signal(syscall.SIGCONT)
	j.Ranks[2].Wait()
	for _, r := range []int{0, 2, 3} {
		require.Contains(t, j.Ranks[r].Output(), "dead: [1]\n", "rank %d", r)
	}
}

// TestWhoGaveUpTellsWhyAlsoWhenItIsGone: ranks that time out and end leave the
// reason behind, and are not themselves all that the last one hears of.
func TestWhoGaveUpTellsWhyAlsoWhenItIsGone(t *testing.T) {
	j := running(t, 4, "SYMWIN_STALL=0.2", "SYMWIN_STALL_REPORT=0")
	for _, r := range []int{2, 3} {
		j.Ranks[r].Signal(syscall.SIGSTOP)
	}
	for _, r := range []int{0, 1} {
		j.Ranks[r].Wait()
		require.Contains(t, j.Ranks[r].Output(), "late: true\n", "rank %d", r)
	}
	j.Ranks[2].Signal(syscall.SIGCONT)
	j.Ranks[2].Wait()
	require.Contains(t, j.Ranks[2].Output(), "late: true\n")
	require.Regexp(t, `rank [01] aborted team 0: .* waited .* for rank`, j.Ranks[2].Output())
	j.Ranks[3].Signal(syscall.SIGKILL)
}
