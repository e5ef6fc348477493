package ce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

func init() {
	scenarios["private"] = privately(-1)
	scenarios["refused"] = privately(1)
	scenarios["slow"] = joined(slowly)
	scenarios["endless"] = joined(endless)
}

// exchanges makes rounds of exchanges of private memory and checks every byte.
func exchanges(ctx context.Context, w *symmem.World, s *ce.Stream, rounds, size int) error {
	for round := range rounds {
		parts := partsFor(w, round, size)
		if err := s.Exchange(ctx, allToAllCall, parts, false, nil); err != nil {
			return err
		}
		for r := range parts {
			if !bytes.Equal(parts[r].Dst, message(size, round, r, w.Rank())) {
				return fmt.Errorf("rank %d, round %d: wrong bytes from %d", w.Rank(), round, r)
			}
		}
	}
	return nil
}

// privately is a scenario: private memory of lengths on both sides of what is
// worth a system call, and then whether the kernel read it. refuses is a rank that
// may not.
func privately(refuses int) ranktest.Scenario {
	return joined(func(ctx context.Context, w *symmem.World) error {
		if w.Rank() == refuses {
			if err := refuseReading(); err != nil {
				return err
			}
		}
		s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
		if err != nil {
			return err
		}
		for _, size := range []int{1, 4095, 4096, 70_001, 2<<20 - 5, 5} {
			if err := exchanges(ctx, w, s, 3, size); err != nil {
				return err
			}
		}
		for r := range w.Size() {
			if may := w.Rank() != refuses; r != w.Rank() && s.Reaches(r) != may {
				return fmt.Errorf("rank %d reads %d's memory: %v, should be %v; %s", w.Rank(), r, !may, may, s.Unreached())
			}
		}
		if said := s.Unreached(); w.Rank() == refuses != strings.Contains(said, "operation not permitted") {
			return fmt.Errorf("rank %d says %q", w.Rank(), said)
		}
		return s.Close(ctx)
	})
}

// slowly is a scenario: where the kernel's copies do not pay, all goes through the
// ring, and the stream says why.
func slowly(ctx context.Context, w *symmem.World) error {
	ce.KernelAtMost(0)
	s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
	if err != nil {
		return err
	}
	const size, times = 70_001, 5
	if err := exchanges(ctx, w, s, times, size); err != nil {
		return err
	}
	if taken := s.Taken(); taken < size*times*uint64(w.Size()-1) {
		return fmt.Errorf("only %d bytes went through the ring; %q", taken, s.Unreached())
	}
	if said := s.Unreached(); !strings.Contains(said, "times as long as a plain copy here") {
		return fmt.Errorf("rank %d says %q", w.Rank(), said)
	}
	return s.Close(ctx)
}

// refuseReading is a seccomp filter for this process: process_vm_readv is EPERM.
func refuseReading() error {
	const (
		loadNumber = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		ifEqual    = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		answer     = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: loadNumber},
		{Code: ifEqual, K: unix.SYS_PROCESS_VM_READV, Jf: 1},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// TestPrivateMemoryBetweenProcesses: every byte, with the kernel's help and, where
// one rank may not call it, without: what that rank is sent goes through the ring,
// what it sends does not.
func TestPrivateMemoryBetweenProcesses(t *testing.T) {
	for _, n := range []int{2, 3} {
		ranktest.Start(t, n, "private").Wait()
	}
	ranktest.Start(t, 3, "refused").Wait()
	ranktest.Start(t, 3, "slow").Wait()
}

// endless exchanges private memory until a rank dies, and then says which. Rank 1
// has memory that takes the kernel some time to free.
func endless(ctx context.Context, w *symmem.World) error {
	if w.Rank() == 1 {
		if _, err := unix.Mmap(-1, 0, 128<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
			return err
		}
	}
	s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
	if err != nil {
		return err
	}
	for round := 0; err == nil; round++ {
		if round == 3 {
			fmt.Println("under way")
		}
		err = exchanges(ctx, w, s, 1, 1<<20)
	}
	var failed *symmem.RankFailedError
	if !errors.As(err, &failed) || len(failed.Ranks) != 1 || failed.Ranks[0] != 1 {
		return fmt.Errorf("not the death of rank 1: %w", err)
	}
	return nil
}

// TestDeathInTheMiddleOfAKernelCopy: whoever reads the memory of a rank that is
// killed gets its death as an error, not bytes and not the kernel's word for it, also
// by pidfd, where its memory is gone long before its death is known.
func TestDeathInTheMiddleOfAKernelCopy(t *testing.T) {
	for i := range 8 {
		j := ranktest.Start(t, 3, "endless", "SYMWIN_LIVENESS="+[]string{"auto", "pidfd"}[i%2])
		for _, r := range j.Ranks {
			r.Await(t, "under way")
		}
		j.Ranks[1].Signal(syscall.SIGKILL)
		for _, r := range []int{0, 2} {
			require.Zero(t, j.Ranks[r].Wait(), "rank %d: %s", r, j.Ranks[r].Output())
		}
	}
}

// TestAnotherProcessIsNotRead: a number that means another process here, as across
// pid namespaces, is found out, and the memory travels through the ring.
func TestAnotherProcessIsNotRead(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			s.ForgeCard()
		}
		if err := exchanges(ctx, w, s, 5, 50_000); err != nil {
			return err
		}
		if w.Rank() == 0 == s.Reaches(1-w.Rank()) || w.Rank() == 0 && !strings.Contains(s.Unreached(), "another number") {
			return fmt.Errorf("rank %d: %v, %q", w.Rank(), s.Reaches(1-w.Rank()), s.Unreached())
		}
		return s.Close(ctx)
	})
}

// TestRefusedByChoice: an engine that stages everything does so, windows too.
func TestEverythingThroughTheRing(t *testing.T) {
	call := allToAllCall
	call.Engine = symmem.EngineBCopy
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		s, err := ce.OpenFor(ctx, w.Team(), call, ce.Options{})
		if err != nil {
			return err
		}
		const size = 50_000
		win, err := window.Alloc[byte](ctx, w, 3*size)
		if err != nil {
			return err
		}
		for round := range 5 {
			parts := partsFor(w, round, size)
			for r := range parts {
				parts[r].Dst = win.Local()[r*size:][:size]
			}
			if err := s.Exchange(ctx, call, parts, false, nil); err != nil {
				return err
			}
			for r := range parts {
				if !bytes.Equal(parts[r].Dst, message(size, round, r, w.Rank())) {
					return fmt.Errorf("round %d: wrong bytes from %d", round, r)
				}
			}
			if s.Taken() == 0 {
				return errors.New("nothing went through the ring")
			}
		}
		return s.Close(ctx)
	})
}

// TestMemoryThatIsNotThere: a source that has gone is its reader's error, which
// names the rank; a destination that has gone is the reader's own. Both revoke the
// team, and the process lives, with its other teams.
func TestMemoryThatIsNotThere(t *testing.T) {
	const size = 1 << 20
	for what, gone := range map[string]func(p *ce.Part, hole []byte){
		"source":      func(p *ce.Part, hole []byte) { p.Src = hole },
		"destination": func(p *ce.Part, hole []byte) { p.Dst = hole },
	} {
		t.Run(what, func(t *testing.T) {
			hole := truncated(t, size)
			errs := make([]error, 2)
			run(t, 2, func(ctx context.Context, w *symmem.World) error {
				twin, err := w.Team().Split(ctx, 0, w.Rank())
				if err != nil {
					return err
				}
				s, err := ce.OpenFor(ctx, twin, allToAllCall, ce.Options{})
				if err != nil {
					return err
				}
				if err := exchanges(ctx, w, s, 2, size); err != nil {
					return err
				}
				parts := partsFor(w, 3, size)
				if w.Rank() == 1 {
					gone(&parts[0], hole)
				}
				errs[w.Rank()] = s.Exchange(ctx, allToAllCall, parts, false, nil)
				return w.Team().Barrier(ctx)
			})
			if what == "source" {
				require.ErrorIs(t, errs[0], syscall.EFAULT)
				require.ErrorContains(t, errs[0], "memory of rank 1")
				require.ErrorIs(t, errs[1], symmem.ErrAborted)
			} else {
				var panicked *ce.PanicError
				require.ErrorAs(t, errs[1], &panicked)
				// Rank 0 had everything, or was told.
				require.True(t, errs[0] == nil || errors.Is(errs[0], symmem.ErrAborted), "%v", errs[0])
			}
		})
	}
}

// truncated is mapped memory of which only the first half is there.
func truncated(t *testing.T, size int) []byte {
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Truncate(int64(size)))
	mapped, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(mapped)) })
	require.NoError(t, file.Truncate(int64(size)/2))
	return mapped
}

// TestForgedAddresses: whatever address a peer names, its own memory is read or
// nothing is, and only the destination is written.
func TestForgedAddresses(t *testing.T) {
	const size = 10_000
	for _, at := range []uint64{1, 4096, 1 << 46, 1<<47 - 4096, 1 << 63, 1<<64 - 1, 1<<64 - 5000} {
		around, over := make([]byte, 3*size), make(chan struct{})
		run(t, 2, func(ctx context.Context, w *symmem.World) error {
			s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
			if err != nil {
				return err
			}
			if err := exchanges(ctx, w, s, 2, size); err != nil {
				return err
			}
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			if w.Rank() == 1 {
				s.ForgeOffer(0, allToAllCall, at, size)
				<-over // or this call, which is another one, may be what ends rank 0's
				if err := w.Team().Barrier(ctx); !errors.Is(err, symmem.ErrAborted) {
					return fmt.Errorf("rank 1: %v", err)
				}
				return nil
			}
			defer close(over)
			parts := partsFor(w, 3, size)
			parts[1].Dst = around[size : 2*size]
			if err := s.Exchange(ctx, allToAllCall, parts, false, nil); !errors.Is(err, syscall.EFAULT) || !strings.Contains(err.Error(), "rank 1") {
				return fmt.Errorf("rank 0: %v", err)
			}
			return nil
		})
		require.Equal(t, make([]byte, size), around[:size])
		require.Equal(t, make([]byte, size), around[2*size:])
	}
}

// TestWhoGivesUpIsNotBelieved: a rank gives up while the other reads its memory,
// and uses it for something else at once. Whoever returns without an error has
// what was sent.
func TestWhoGivesUpIsNotBelieved(t *testing.T) {
	const size = 4 << 20
	src := make([]byte, size)
	for round := range 12 {
		for i := range src {
			src[i] = 1
		}
		run(t, 2, func(ctx context.Context, w *symmem.World) error {
			twin, err := w.Team().Split(ctx, 0, w.Rank())
			if err != nil {
				return err
			}
			s, err := ce.OpenFor(ctx, twin, allToAllCall, ce.Options{})
			if err != nil {
				return err
			}
			if err := exchanges(ctx, w, s, 2, 10_000); err != nil {
				return err
			}
			if w.Rank() == 1 {
				short, cancel := context.WithCancel(ctx)
				go func() {
					for range 300 * round {
						runtime.Gosched()
					}
					cancel()
				}()
				err := s.Exchange(short, allToAllCall, []ce.Part{{Src: src}, {}}, false, nil)
				clear(src)
				if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, symmem.ErrAborted) {
					return err
				}
				return w.Team().Barrier(ctx)
			}
			dst := make([]byte, size)
			err = s.Exchange(ctx, allToAllCall, []ce.Part{{}, {Dst: dst}}, false, nil)
			if err == nil && bytes.Count(dst, []byte{1}) != size {
				return fmt.Errorf("round %d: torn data, and no error", round)
			}
			return w.Team().Barrier(ctx)
		})
	}
}

// TestSharedEdges: one rank sends to all, or all to one, into windows and out of
// windows and private memory, and both ends of each edge copy a part.
func TestSharedEdges(t *testing.T) {
	const n = 3
	for _, size := range []int{16<<10 - 1, 16 << 10, 100_001, 1 << 20} {
		for _, shown := range []bool{true, false} {
			run(t, n, func(ctx context.Context, w *symmem.World) error {
				me := w.Rank()
				s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
				if err != nil {
					return err
				}
				s.ShareEdges()
				win, err := window.Alloc[byte](ctx, w, (n+1)*size)
				if err != nil {
					return err
				}
				for round := range 6 {
					root, toAll := round%n, round%2 == 0
					src := make([]byte, size)
					if shown {
						src = win.Local()[n*size:][:size]
					}
					copy(src, message(size, round, me, 0))
					parts := make([]ce.Part, n)
					clear(win.Local()[:n*size])
					for r := range parts {
						switch {
						case r == me:
						case toAll && me == root:
							parts[r].Src = src
						case toAll && r == root, !toAll && me == root:
							parts[r].Dst = win.Local()[r*size:][:size]
						case !toAll && r == root:
							parts[r].Src = src
						}
					}
					if err := s.Exchange(ctx, allToAllCall, parts, false, nil); err != nil {
						return err
					}
					for r := range parts {
						if d := parts[r].Dst; d != nil && !bytes.Equal(d, message(size, round, r, 0)) {
							return fmt.Errorf("rank %d, round %d: wrong bytes from %d", me, round, r)
						}
					}
				}
				return s.Close(ctx)
			})
		}
	}
}

// TestCuts: both ends of a shared edge have equally much to do; a cut is whole
// pages, or everything, whatever a peer says.
func TestCuts(t *testing.T) {
	const n = 1 << 20
	require.EqualValues(t, n/2, ce.Cut(n, n, 0, n, 0, true), "a broadcast to one")
	require.EqualValues(t, n/8, ce.Cut(n, 7*n, 0, n, 0, true), "to seven")
	require.EqualValues(t, n, ce.Cut(n, n, 0, n, n, true), "a gather from one")
	require.EqualValues(t, 0, ce.Cut(n, n, n, n, 0, true), "a scatter to one")
	require.EqualValues(t, n/3&^4095, ce.Cut(n, n, n, n, 0, false), "with the kernel's help")
	require.EqualValues(t, 5000, ce.Cut(5000, n, 0, n, 0, true), "not worth it")
	for _, n := range []uint64{1, 4095, 4096, 1 << 20, 1<<62 + 3} {
		for _, a := range []uint64{1, n, 1 << 63, 1<<64 - 1} {
			for _, b := range []uint64{1, n, 1 << 63, 1<<64 - 1} {
				for _, own := range []uint64{0, 1<<48 - 1} {
					for _, shown := range []bool{false, true} {
						cut := ce.Cut(n, a, own, b, 1<<48-1-own, shown)
						require.LessOrEqual(t, cut, n)
						require.True(t, cut == n || cut%4096 == 0)
					}
				}
			}
		}
	}
}
