package symmem_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

func init() {
	scenarios["eater"] = eater
	scenarios["forker"] = forker
}

// untilFailed makes barriers until one fails, which has to name rank 1.
func untilFailed(ctx context.Context, w *symmem.World) error {
	for {
		if err := w.Team().Barrier(ctx); err != nil {
			var dead *symmem.RankFailedError
			if !errors.As(err, &dead) || !slices.Contains(dead.Ranks, 1) {
				return fmt.Errorf("not the death of rank 1: %w", err)
			}
			fmt.Println("rank 1 is dead")
			return nil
		}
	}
}

// eater is rank 1, who touches memory until the kernel ends it, or another.
func eater(ctx context.Context) error {
	return joined(ctx, func(w *symmem.World) error {
		// The eater first, then another rank, and the test that watches them last.
		score := "500"
		if w.Rank() == 1 {
			score = "1000"
		}
		if err := os.WriteFile("/proc/self/oom_score_adj", []byte(score), 0); err != nil {
			return err
		}
		if w.Rank() == 1 {
			go func() {
				for {
					b, err := unix.Mmap(-1, 0, 16<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
					for i := 0; i < len(b); i += 4096 {
						b[i] = 1
					}
					if err != nil {
						panic(err) // ends this rank otherwise than it should
					}
				}
			}()
		}
		return untilFailed(ctx, w)
	})
}

// TestKilledForMemory: the kernel ends a rank at the limit of its memory cgroup,
// in the middle of its work, with nobody's leave. The others are told at once.
func TestKilledForMemory(t *testing.T) {
	if !ranktest.InCgroup(t, 256<<20) {
		return
	}
	for _, liveness := range []string{"auto", "pidfd"} {
		j := ranktest.Start(t, 3, "eater", "SYMWIN_WINDOW=2M", "SYMWIN_LIVENESS="+liveness)
		require.Equal(t, 128+9, j.Ranks[1].Wait(), j.Ranks[1].Output())
		survivors := 0
		for _, r := range []int{0, 2} {
			if j.Ranks[r].Wait() == 128+9 {
				continue // where memory comes back late, the kernel ends one more
			}
			require.Zero(t, j.Ranks[r].Wait(), j.Ranks[r].Output())
			require.Contains(t, j.Ranks[r].Output(), "rank 1 is dead")
			survivors++
		}
		require.NotZero(t, survivors)
	}
}

// forker is rank 1, who splits in two as a C program would, without exec, and
// dies; its child lives on, with a copy of all descriptors and of all memory but
// the region.
func forker(ctx context.Context) error {
	return joined(ctx, func(w *symmem.World) error {
		if w.Rank() == 1 {
			region := uintptr(unsafe.Pointer(unsafe.SliceData(w.Window(0))))
			text, rest := []byte("the child has no region\n"), unix.Timespec{Sec: 60}
			// The child has one thread and no Go runtime to speak of: system calls only.
			child, _, e := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
			if e != 0 {
				return e
			}
			if child == 0 {
				if _, _, e := syscall.RawSyscall(syscall.SYS_WRITE, 1, region, 1); e == syscall.EFAULT {
					_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
				}
				_, _, _ = syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, uintptr(unsafe.Pointer(&rest)), 0, 0, 0)
				_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
			}
			fmt.Printf("child %d.\n", child)
		}
		return untilFailed(ctx, w)
	})
}

// TestForkedChildIsNoRank: the death of a rank is noticed although a child of it
// lives on with its descriptors, and the child cannot write into the region.
func TestForkedChildIsNoRank(t *testing.T) {
	for _, liveness := range []string{"auto", "pidfd"} {
		j := ranktest.Start(t, 2, "forker", "SYMWIN_LIVENESS="+liveness)
		j.Ranks[1].Await(t, "the child has no region")
		j.Ranks[1].Await(t, ".\n")
		child, err := strconv.Atoi(regexp.MustCompile(`child (\d+)\.`).FindStringSubmatch(j.Ranks[1].Output())[1])
		require.NoError(t, err)
		j.Ranks[1].Signal(syscall.SIGKILL)
		require.Zero(t, j.Ranks[0].Wait(), j.Ranks[0].Output())
		require.Contains(t, j.Ranks[0].Output(), "rank 1 is dead")
		require.NoError(t, syscall.Kill(child, 0), "the child was to outlive it")
		p, err := os.FindProcess(child)
		require.NoError(t, err)
		require.NoError(t, p.Kill())
		require.Equal(t, 128+9, j.Ranks[1].Wait())
	}
}
