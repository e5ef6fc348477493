package symmem_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

func init() {
	// All make their call when they are told to.
	scenarios["called"] = func(ctx context.Context) error {
		call := make(chan os.Signal, 1)
		signal.Notify(call, syscall.SIGUSR1)
		return joined(ctx, func(w *symmem.World) error {
			fmt.Println("joined")
			<-call
			err := w.Team().Barrier(ctx)
			var late *symmem.TimeoutError
			if errors.As(err, &late) {
				fmt.Println("late:", late.Missing)
			}
			return err
		})
	}
}

// called starts five ranks of which 1 and 3 are stopped and the others make their
// call.
func called(t *testing.T, extra string) *ranktest.Job {
	t.Helper()
	j := ranktest.Start(t, 5, "called", extra)
	for _, r := range j.Ranks {
		r.Await(t, "joined")
	}
	j.Ranks[1].Signal(syscall.SIGSTOP)
	j.Ranks[3].Signal(syscall.SIGSTOP)
	watched(t, j.Name, func(s symmem.Snapshot) bool {
		return s.Ranks[1].Process == "stopped" && s.Ranks[3].Process == "stopped"
	})
	for _, r := range []int{0, 2, 4} {
		j.Ranks[r].Signal(syscall.SIGUSR1)
	}
	return j
}

// patiently tries with more and more seconds of patience until those that make
// their call have all come within that: on a busy machine one of them may be on its
// way yet, and is named too.
func patiently(t *testing.T, try func(seconds float64) bool) {
	t.Helper()
	for seconds := 0.3; seconds < ranktest.Watchdog.Seconds()/4; seconds *= 3 {
		if try(seconds) {
			return
		}
	}
	require.Fail(t, "never were only the stopped ranks named")
}

// goOn lets the stopped ranks go on.
func goOn(j *ranktest.Job) {
	for _, r := range []int{1, 3} {
		j.Ranks[r].Signal(syscall.SIGUSR1)
		j.Ranks[r].Signal(syscall.SIGCONT)
	}
}

// TestStoppedRanksAreNamedExactly: by each rank that waits, in one line, and from
// outside; after SIGCONT the job goes on unharmed.
func TestStoppedRanksAreNamedExactly(t *testing.T) {
	patiently(t, func(seconds float64) bool {
		j := called(t, fmt.Sprint("SYMWIN_STALL_REPORT=", seconds))
		exact := true
		for _, r := range []int{0, 2, 4} {
			j.Ranks[r].Await(t, "has waited")
			j.Ranks[r].Await(t, "\n")
			exact = exact && regexp.MustCompile(fmt.Sprintf(`^joined\nsymwin: rank %d has waited \S+ in barrier #1 on team 0 for ranks 1, 3; `+
				`rank 1: no call \(process %d is stopped\); rank 3: no call \(process %d is stopped\)\n$`,
				r, j.Ranks[1].Pid(), j.Ranks[3].Pid())).MatchString(j.Ranks[r].Output())
		}
		watched(t, j.Name, func(s symmem.Snapshot) bool {
			for r, st := range s.Ranks {
				if r == 1 || r == 3 {
					require.Equal(t, "stopped", st.Process)
					require.Empty(t, st.Waits)
					continue
				}
				require.Empty(t, st.Process)
				if len(st.Waits) != 1 || !slices.Equal(st.Waits[0].Missing, []int{1, 3}) {
					return false
				}
			}
			return true
		})
		goOn(j)
		j.Wait()
		return exact
	})
}

// TestStoppedRanksTimeOut: at the deadline the others give up, and the stopped
// ones are told when they go on.
func TestStoppedRanksTimeOut(t *testing.T) {
	patiently(t, func(seconds float64) bool {
		j := called(t, fmt.Sprint("SYMWIN_STALL=", seconds))
		first, exact := false, true
		for _, r := range []int{0, 2, 4} {
			require.Equal(t, 1, j.Ranks[r].Wait())
			first = first || strings.Contains(j.Ranks[r].Output(), "\nlate: [")
			exact = exact && regexp.MustCompile(`late: \[1 3\]|aborted team 0: .* for ranks 1, 3`).MatchString(j.Ranks[r].Output())
		}
		require.True(t, first, "one of them is the first")
		goOn(j)
		for _, r := range []int{1, 3} {
			require.Equal(t, 1, j.Ranks[r].Wait())
			exact = exact && strings.Contains(j.Ranks[r].Output(), "for ranks 1, 3")
		}
		return exact
	})
}

// TestDebuggedRanksAreNotLate: as long as a debugger has a rank the others wait
// without a word, and once it has let go they wait as long as ever.
func TestDebuggedRanksAreNotLate(t *testing.T) {
	runtime.LockOSThread() // who traces is a thread
	defer runtime.UnlockOSThread()
	j := ranktest.Start(t, 3, "called", "SYMWIN_STALL_REPORT=0.4", "SYMWIN_STALL=0.7")
	for _, r := range j.Ranks {
		r.Await(t, "joined")
	}
	pid := j.Ranks[0].Pid()
	if err := unix.PtraceSeize(pid); err != nil {
		t.Skip("no tracing here: ", err)
	}
	for _, r := range j.Ranks[1:] {
		r.Signal(syscall.SIGUSR1)
	}
	watched(t, j.Name, func(s symmem.Snapshot) bool {
		for _, st := range s.Ranks[1:] {
			if len(st.Waits) != 1 || !slices.Equal(st.Waits[0].Missing, []int{0}) || st.Waits[0].Since < 1500*time.Millisecond {
				return false
			}
		}
		return true
	})
	for _, r := range j.Ranks[1:] {
		require.Equal(t, "joined\n", r.Output())
	}
	require.NoError(t, unix.PtraceInterrupt(pid))
	_, err := unix.Wait4(pid, nil, unix.WALL, nil)
	require.NoError(t, err)
	watched(t, j.Name, func(s symmem.Snapshot) bool { return s.Ranks[0].Process == "traced" })
	require.NoError(t, unix.PtraceDetach(pid))
	for _, r := range j.Ranks[1:] {
		require.Equal(t, 1, r.Wait())
		require.Regexp(t, `error: .* for rank 0`, r.Output())
	}
}
