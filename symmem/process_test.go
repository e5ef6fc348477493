package symmem_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/symmem"
)

func TestMain(m *testing.M) { ranktest.Main(m, scenarios) }

// scenarios run in processes of their own.
var scenarios = map[string]ranktest.Scenario{
	"barriers": func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error {
			for range 2000 {
				if err := w.Team().Barrier(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	},
	"split": func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error { return splitScenario(ctx, w) })
	},
	// Barriers for ever; says which error ended them.
	"until-error": func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error {
			fmt.Println("joined")
			for {
				if err := w.Team().Barrier(ctx); err != nil {
					fmt.Println("ended:", err)
					var dead *symmem.RankFailedError
					if errors.As(err, &dead) {
						fmt.Println("failed ranks:", dead.Ranks)
					}
					if again := w.Team().Barrier(ctx); again == nil || !errors.Is(again, errors.Unwrap(err)) {
						return fmt.Errorf("the next call said %v", again)
					}
					return nil
				}
			}
		})
	},
	// Rank 0 never comes to the barrier.
	"rank0-late": func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error {
			fmt.Println("joined")
			if w.Rank() == 0 {
				select {}
			}
			err := w.Team().Barrier(ctx)
			fmt.Println("ended:", err)
			return nil
		})
	},
	"rank0-leaves": func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error {
			if w.Rank() == 0 {
				return nil
			}
			err := w.Team().Barrier(ctx)
			if !errors.Is(err, symmem.ErrLeft) {
				return fmt.Errorf("got %v", err)
			}
			return nil
		})
	},
	// The last barrier succeeds although rank 0 ends without Close after it.
	"barrier-then-exit": func(ctx context.Context) error {
		w, err := symmem.Join(ctx)
		if err != nil {
			return err
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		if w.Rank() == 0 {
			os.Exit(0)
		}
		return w.Close()
	},
	"abort": func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error {
			if err := w.Team().Barrier(ctx); err != nil { // behind it nobody is in Join any more
				return err
			}
			if w.Rank() == 1 {
				w.Abort(errors.New("the cat is on the keyboard"))
			}
			err := w.Team().Barrier(ctx)
			var a *symmem.AbortedError
			if !errors.As(err, &a) || a.Rank != 1 || !strings.Contains(a.Reason, "the cat is on the keyboard") {
				return fmt.Errorf("got %v", err)
			}
			return nil
		})
	},
	"join-only": func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error { return nil })
	},
}

func joined(ctx context.Context, f func(*symmem.World) error) error {
	w, err := symmem.Join(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	return f(w)
}

// splitScenario makes odd and even teams, in reverse order, and a duplicate, and
// closes and makes them again more often than there are numbers.
func splitScenario(ctx context.Context, w *symmem.World) error {
	for round := range 80 {
		sub, err := w.Team().Split(ctx, w.Rank()%2, -w.Rank())
		if err != nil {
			return err
		}
		size := (w.Size() + 1 - w.Rank()%2) / 2
		if sub.Size() != size || sub.WorldRank(sub.Rank()) != w.Rank() {
			return fmt.Errorf("rank %d: team of %d, own rank %d", w.Rank(), sub.Size(), sub.Rank())
		}
		for r := 1; r < size; r++ {
			if sub.WorldRank(r) >= sub.WorldRank(r-1) {
				return fmt.Errorf("not ordered by key")
			}
		}
		for range 1 + (round+w.Rank()%2)%3 {
			if err := sub.Barrier(ctx); err != nil {
				return err
			}
		}
		if err := sub.Close(ctx); err != nil {
			return err
		}
		if err := sub.Barrier(ctx); !errors.Is(err, symmem.ErrClosed) {
			return fmt.Errorf("barrier on a closed team: %v", err)
		}
	}
	none, err := w.Team().Split(ctx, -1, 0)
	if err != nil || none != nil {
		return fmt.Errorf("negative color: %v, %v", none, err)
	}
	// All numbers but the world's, then one too many: agreed, and all go on.
	for range 63 {
		if _, err := w.Team().Split(ctx, 0, 0); err != nil {
			return err
		}
	}
	if _, err := w.Team().Split(ctx, 0, 0); !errors.Is(err, symmem.ErrNoSpace) {
		return fmt.Errorf("the 65th team: %v", err)
	}
	return w.Team().Barrier(ctx)
}

func TestSplit(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		require.NoError(t, symmem.Run(context.Background(), n, splitScenario))
	}
	ranktest.Start(t, 5, "split").Wait()
}

func TestBarrierBetweenProcesses(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 16} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { ranktest.Start(t, n, "barriers").Wait() })
	}
}

func TestKilledRankIsNamed(t *testing.T) {
	for _, liveness := range []string{"auto", "pidfd"} {
		for _, victims := range [][]int{{0}, {2}, {1, 2}, {0, 1, 3}} {
			t.Run(fmt.Sprint(liveness, victims), func(t *testing.T) {
				j := ranktest.Start(t, 4, "until-error", "SYMWIN_LIVENESS="+liveness)
				for _, r := range j.Ranks {
					r.Await(t, "joined")
				}
				for _, v := range victims {
					j.Ranks[v].Signal(syscall.SIGSTOP) // so that none ends by itself for the others' death
				}
				for _, v := range victims {
					j.Ranks[v].Signal(syscall.SIGKILL)
				}
				dead := map[int]bool{}
				for _, v := range victims {
					dead[v] = true
					require.Equal(t, 128+9, j.Ranks[v].Wait())
				}
				for i, r := range j.Ranks {
					if !dead[i] {
						require.Zero(t, r.Wait(), r.Output())
						require.Contains(t, r.Output(), "failed ranks:")
						// It names at least one of the dead and nobody alive.
						for alive := range j.Ranks {
							if !dead[alive] {
								require.NotRegexp(t, fmt.Sprintf(`failed ranks: \[.*\b%d\b`, alive), r.Output())
							}
						}
					}
				}
			})
		}
	}
}

// awaitCome waits until n ranks have come to a job, which may wait for others still.
func awaitCome(t *testing.T, job string, n int) {
	t.Helper()
	require.True(t, ranktest.Within(func() bool { return symmem.Come(job) == n }), "%d ranks never came", n)
}

// watched waits until the job, as somebody from outside sees it, shows what is
// wanted.
func watched(t *testing.T, job string, want func(symmem.Snapshot) bool) (s symmem.Snapshot) {
	t.Helper()
	require.True(t, ranktest.Within(func() bool {
		found, err := symmem.Regions()
		require.NoError(t, err)
		for _, f := range found {
			if s, err = symmem.Observe(f.Pid, f.Fd); err == nil && s.Job == job {
				return want(s)
			}
		}
		return false
	}), "never seen; last: %+v", s)
	return s
}

// Two ranks come into a call seconds apart where the machine is busy, so that one
// may be late as well for the other.
func TestLateRankIsReportedAndTimesOut(t *testing.T) {
	j := ranktest.Start(t, 3, "rank0-late", "SYMWIN_STALL_REPORT=0.2", "SYMWIN_STALL=1")
	j.Ranks[0].Await(t, "joined")
	reported := 0
	for r, other := range map[int]int{1: 2, 2: 1} {
		require.Zero(t, j.Ranks[r].Wait())
		out := j.Ranks[r].Output()
		late := fmt.Sprintf("for (rank 0|ranks 0, %d)", other)
		require.Regexp(t, `ended: .*(waited|aborted team 0).* `+late, out)
		if strings.Contains(out, "has waited") {
			require.Regexp(t, fmt.Sprintf(`symwin: rank %d has waited .* %s; rank 0: no call`, r, late), out)
			reported++
		}
	}
	require.NotZero(t, reported, "one has waited until the end")
}

func TestStoppedRankIsSeenAndGoesOn(t *testing.T) {
	j := ranktest.Start(t, 2, "until-error", "SYMWIN_STALL_REPORT=0.1")
	for _, r := range j.Ranks {
		r.Await(t, "joined")
	}
	says := fmt.Sprintf("(process %d is stopped)", j.Ranks[1].Pid())
	for stopped := false; !stopped; {
		j.Ranks[1].Signal(syscall.SIGSTOP)
		s := watched(t, j.Name, func(s symmem.Snapshot) bool {
			return len(s.Ranks[0].Waits) > 0 && s.Ranks[0].Waits[0].Since > time.Second
		})
		// A wait that was long before the stop has been told of, and is not again.
		stopped = strings.Contains(j.Ranks[0].Output(), says)
		j.Ranks[1].Signal(syscall.SIGCONT)
		watched(t, j.Name, func(now symmem.Snapshot) bool {
			return now.Ranks[0].Call.Sequence > s.Ranks[0].Call.Sequence+1
		})
	}
	require.NotContains(t, j.Ranks[0].Output(), "ended")
	j.Ranks[0].Signal(syscall.SIGKILL)
	require.Zero(t, j.Ranks[1].Wait())
}

func TestLeftRank(t *testing.T)                { ranktest.Start(t, 3, "rank0-leaves").Wait() }
func TestAbortCrossesWithItsText(t *testing.T) { ranktest.Start(t, 3, "abort").Wait() }
func TestBarrierBeforeDeathSucceeds(t *testing.T) {
	ranktest.Start(t, 3, "barrier-then-exit").Wait()
}

func TestRankThatNeverComes(t *testing.T) {
	j := ranktest.New(t)
	j.Add(0, 3, "join-only")
	awaitCome(t, j.Name, 1)
	j.Add(1, 3, "join-only", "SYMWIN_JOIN_TIMEOUT=0.3")
	for _, r := range j.Ranks {
		require.Equal(t, 1, r.Wait())
		require.Contains(t, r.Output(), fmt.Sprintf("rank 2 of job %s did not come", j.Name))
	}
}

func TestTwoProcessesWithOneRank(t *testing.T) {
	j := ranktest.New(t)
	a := j.Add(0, 2, "until-error")
	awaitCome(t, j.Name, 1)
	b := j.Add(0, 2, "join-only")
	require.Equal(t, 1, b.Wait())
	require.Contains(t, b.Output(), fmt.Sprintf("joined already (process %d)", a.Pid()))
	c := j.Add(1, 2, "join-only")
	require.Zero(t, c.Wait(), c.Output())
	require.Zero(t, a.Wait(), a.Output())
	require.Contains(t, a.Output(), "closed its world")
}

func TestKilledWhileJoining(t *testing.T) {
	j := ranktest.New(t)
	a := j.Add(0, 3, "join-only")
	b := j.Add(1, 3, "join-only")
	awaitCome(t, j.Name, 2)
	b.Signal(syscall.SIGKILL)
	require.Equal(t, 1, a.Wait())
	require.Contains(t, a.Output(), "rank 1 failed: died while joining")
}

func TestEverythingKilledWhileJoiningLeavesNothingForLong(t *testing.T) {
	j := ranktest.New(t)
	a := j.Add(0, 2, "join-only")
	awaitCome(t, j.Name, 1)
	a.Signal(syscall.SIGKILL)
	a.Wait()
	// Whoever starts next sweeps, perhaps a rank of another test by now.
	_, err := symmem.Sweep()
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(shm.Dir(), shm.Name(j.Name)))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestRegionTruncatedWhileJoining(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SYMWIN_SHM_DIR", dir)
	j := ranktest.New(t)
	a := j.Add(0, 2, "join-only")
	awaitCome(t, j.Name, 1)
	path := filepath.Join(dir, fmt.Sprintf("symwin-%d-%s", os.Getuid(), j.Name))
	require.NoError(t, os.Truncate(path, 0))
	require.Equal(t, 1, a.Wait(), a.Output())
	require.Contains(t, a.Output(), "its file was truncated")
	require.NoFileExists(t, path)
}

func TestRegionTruncatedUnderAWait(t *testing.T) {
	truncatedUnderAWait(t, 0, "its file was truncated")
}

// TestRegionZeroedUnderAWait: cut, and made as long again: nothing faults, and
// all is zeroes. Whoever waits sees that his own word is gone, and does not wait
// until --stall.
func TestRegionZeroedUnderAWait(t *testing.T) {
	truncatedUnderAWait(t, 1<<30, "the liveness word of rank 1")
}

func truncatedUnderAWait(t *testing.T, extend int64, says string) {
	j := ranktest.Start(t, 2, "rank0-late")
	j.Ranks[0].Await(t, "joined")
	watched(t, j.Name, func(s symmem.Snapshot) bool { return len(s.Ranks[1].Waits) > 0 }) // past the spin
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", j.Ranks[1].Pid()))
	require.NoError(t, err)
	j.Ranks[1].Stop(t) // it is not to look between the cut and the rest
	for _, fd := range fds {
		p := fmt.Sprintf("/proc/%d/fd/%s", j.Ranks[1].Pid(), fd.Name())
		if to, _ := os.Readlink(p); strings.Contains(to, j.Name) {
			require.NoError(t, os.Truncate(p, 0))
			if extend > 0 {
				require.NoError(t, os.Truncate(p, extend))
			}
		}
	}
	j.Ranks[1].Signal(syscall.SIGCONT)
	require.Zero(t, j.Ranks[1].Wait(), j.Ranks[1].Output())
	require.Contains(t, j.Ranks[1].Output(), says)
}

func TestHalfSetVariables(t *testing.T) {
	j := ranktest.New(t)
	a := j.Add(0, 2, "join-only", "SYMWIN_SIZE=")
	require.Equal(t, 1, a.Wait())
	require.Contains(t, a.Output(), "SYMWIN_SIZE is not set")
}

func TestOtherSizeThanTheCreators(t *testing.T) {
	j := ranktest.New(t)
	a := j.Add(0, 2, "join-only")
	awaitCome(t, j.Name, 1)
	b := j.Add(1, 3, "join-only")
	require.Equal(t, 1, b.Wait())
	require.Contains(t, b.Output(), "said 2")
	c := j.Add(1, 2, "join-only")
	require.Zero(t, a.Wait())
	require.Zero(t, c.Wait())
}
