package symmem_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

func init() {
	// Ranks 1 and 3 stop themselves before they make their first call.
	scenarios["two-stop"] = func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error {
			if w.Rank() == 1 || w.Rank() == 3 {
				fmt.Println("stopping")
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
				time.Sleep(50 * time.Millisecond) // another thread may have been the first to stop
			}
			err := w.Team().Barrier(ctx)
			var late *symmem.TimeoutError
			if errors.As(err, &late) {
				fmt.Println("late:", late.Missing)
			}
			return err
		})
	}
}

// watched is the job as somebody from outside sees it.
func watched(t *testing.T, job string) (s symmem.Snapshot) {
	t.Helper()
	found, err := symmem.Regions()
	require.NoError(t, err)
	for _, f := range found {
		if s, err := symmem.Observe(f.Pid, f.Fd); err == nil && s.Job == job {
			return s
		}
	}
	require.Fail(t, "the job is not found")
	return s
}

// TestStoppedRanksAreNamedExactly: by each rank that waits, in one line, and from
// outside; after SIGCONT the job goes on unharmed.
func TestStoppedRanksAreNamedExactly(t *testing.T) {
	j := ranktest.Start(t, 5, "two-stop", "SYMWIN_STALL_REPORT=0.2")
	for _, r := range []int{0, 2, 4} {
		j.Ranks[r].Await(t, "has waited")
		require.Regexp(t, fmt.Sprintf(`^symwin: rank %d has waited \S+ in barrier #1 on team 0 for ranks 1, 3; `+
			`rank 1: no call \(process %d is stopped\); rank 3: no call \(process %d is stopped\)\n$`,
			r, j.Ranks[1].Pid(), j.Ranks[3].Pid()), j.Ranks[r].Output())
	}
	s := watched(t, j.Name)
	for r, st := range s.Ranks {
		if r == 1 || r == 3 {
			require.Equal(t, "stopped", st.Process)
			require.Empty(t, st.Waits)
			continue
		}
		require.Empty(t, st.Process)
		require.Len(t, st.Waits, 1)
		require.Equal(t, []int{1, 3}, st.Waits[0].Missing)
	}
	j.Ranks[1].Signal(syscall.SIGCONT)
	j.Ranks[3].Signal(syscall.SIGCONT)
	j.Wait()
}

// TestStoppedRanksTimeOut: at the deadline the others give up, and the stopped
// ones are told when they go on.
func TestStoppedRanksTimeOut(t *testing.T) {
	j := ranktest.Start(t, 5, "two-stop", "SYMWIN_STALL=0.5")
	for _, r := range []int{0, 2, 4} {
		require.Equal(t, 1, j.Ranks[r].Wait())
		require.Regexp(t, `late: \[1 3\]|aborted team 0: .* for ranks 1, 3`, j.Ranks[r].Output())
	}
	require.True(t, slices.ContainsFunc([]int{0, 2, 4}, func(r int) bool {
		return len(j.Ranks[r].Output()) > 0 && j.Ranks[r].Output()[:4] == "late"
	}), "one of them is the first")
	for _, r := range []int{1, 3} {
		j.Ranks[r].Signal(syscall.SIGCONT)
		require.Equal(t, 1, j.Ranks[r].Wait())
		require.Contains(t, j.Ranks[r].Output(), "for ranks 1, 3")
	}
}

// TestDebuggedRanksAreNotLate: as long as a debugger has a rank the others wait
// without a word, and once it has let go they wait as long as ever.
func TestDebuggedRanksAreNotLate(t *testing.T) {
	runtime.LockOSThread() // who traces is a thread
	defer runtime.UnlockOSThread()
	j := ranktest.Start(t, 3, "rank0-late", "SYMWIN_STALL_REPORT=0.4", "SYMWIN_STALL=0.7")
	j.Ranks[0].Await(t, "joined")
	pid := j.Ranks[0].Pid()
	if err := unix.PtraceSeize(pid); err != nil {
		t.Skip("no tracing here: ", err)
	}
	time.Sleep(1500 * time.Millisecond)
	for _, r := range j.Ranks[1:] {
		require.Equal(t, "joined\n", r.Output())
	}
	require.NoError(t, unix.PtraceInterrupt(pid))
	_, err := unix.Wait4(pid, nil, unix.WALL, nil)
	require.NoError(t, err)
	require.Equal(t, "traced", watched(t, j.Name).Ranks[0].Process)
	require.NoError(t, unix.PtraceDetach(pid))
	for _, r := range j.Ranks[1:] {
		require.Zero(t, r.Wait())
		require.Regexp(t, `ended: .* for rank 0`, r.Output())
	}
}
