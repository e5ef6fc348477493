package symwin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
	"github.com/symwin/symwin/internal/env"
)

// TestBadArgumentsAreLocal: every one is ErrUsage that names what is wrong, and
// nothing has happened to the team, not even that a call was counted.
func TestBadArgumentsAreLocal(t *testing.T) {
	type pair struct{ P *int }
	require.NoError(t, symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
		team, me := w.Team(), w.Rank()
		a := func(n int) []int { return make([]int, n) }
		f := func(n int) []float32 { return make([]float32, n) }
		buf, both := a(8), []int{1, 1}
		for text, err := range map[string]error{
			"dst has 3 elements, src 3; both must have the same multiple of 2":                    symwin.AllToAll(ctx, team, a(3), a(3)),
			"dst has 2 elements, src 4":                                                           symwin.AllToAll(ctx, team, a(2), a(4)),
			"dst has 0 elements, src 4":                                                           symwin.AllToAll(ctx, team, nil, a(4)),
			"string cannot lie in shared memory":                                                  symwin.AllToAll(ctx, team, make([]string, 2), make([]string, 2)),
			"alltoall: bad argument: dst and src overlap":                                         symwin.AllToAll(ctx, team, buf, buf),
			"1 counts of dst and 2 of src for a team of 2":                                        symwin.AllToAllv(ctx, team, nil, a(1), a(2), []int{1, 1}),
			"2 counts of dst and 1 of src for a team of 2":                                        symwin.AllToAllv(ctx, team, nil, a(2), a(1), []int{1}),
			"srcCounts[0] is -1":                                                                  symwin.AllToAllv(ctx, team, nil, a(2), a(1), []int{-1, 2}),
			"srcCounts[1] is 2, but src has only 1 elements left for it":                          symwin.AllToAllv(ctx, team, nil, a(2), a(2), []int{1, 2}),
			"srcCounts[1] is 9223372036854775807":                                                 symwin.AllToAllv(ctx, team, nil, a(2), a(2), []int{1, 1<<63 - 1}),
			"srcCounts add up to 1, src has 2 elements":                                           symwin.AllToAllv(ctx, team, nil, a(2), a(2), []int{1, 0}),
			"alltoallv: bad argument: dst and src overlap":                                        symwin.AllToAllv(ctx, team, buf[1:3], a(2), buf[:2], []int{1, 1}),
			"dst has 3 elements; 2 ranks with a src of 2 need 2 times as many":                    symwin.AllGather(ctx, team, a(3), a(2)),
			"dst has 5 elements; 2 ranks with a src of 2 need":                                    symwin.AllGather(ctx, team, a(5), a(2)),
			"pair cannot lie in shared memory: symwin_test.pair.P is of kind ptr":                 symwin.AllGather(ctx, team, make([]pair, 2), make([]pair, 1)),
			"allgather: bad argument: dst and src overlap; in place, the one is exactly":          symwin.AllGather(ctx, team, buf, buf[1:5]),
			"allgather: bad argument: dst and src overlap":                                        symwin.AllGather(ctx, team, buf[:4], buf[2*(1-me):][:2]),
			"alltoallv: bad argument: dstCounts overlaps srcCounts, dst or src":                   symwin.AllToAllv(ctx, team, a(2), both, a(2), both),
			"bad argument: dstCounts overlaps srcCounts, dst or src":                              symwin.AllToAllv(ctx, team, buf, buf[1:3], a(2), []int{1, 1}),
			"alltoallv: bad argument: dstCounts overlaps srcCounts":                               symwin.AllToAllv(ctx, team, a(2), buf[1:3], buf[:2], []int{0, 2}),
			"allgatherv: bad argument: dstCounts overlaps dst or src":                             symwin.AllGatherv(ctx, team, buf, buf[1:3], a(1)),
			"bad argument: dstCounts overlaps dst or src":                                         symwin.AllGatherv(ctx, team, a(3), buf[:2], buf[:1]),
			"3 counts of dst for a team of 2":                                                     symwin.AllGatherv(ctx, team, buf, a(3), a(1)),
			"allgatherv: bad argument: dst and src overlap":                                       symwin.AllGatherv(ctx, team, buf, a(2), buf[:1]),
			"gather: bad argument: root 2 of a team of 2":                                         symwin.Gather(ctx, team, a(2), a(1), 2),
			"gather: bad argument: dst has 1 elements":                                            symwin.Gather(ctx, team, a(1), a(1), me),
			"gather: bad argument: dst and src overlap":                                           symwin.Gather(ctx, team, buf[:4], buf[1:3], me),
			"scatter: bad argument: root -1 of a team of 2":                                       symwin.Scatter(ctx, team, a(1), a(2), -1),
			"scatter: bad argument: src has 3 elements":                                           symwin.Scatter(ctx, team, a(1), a(3), me),
			"scatter: bad argument: src and dst overlap":                                          symwin.Scatter(ctx, team, buf[1:3], buf[:4], me),
			"broadcast: bad argument: root 7 of a team of 2":                                      symwin.Broadcast(ctx, team, a(1), 7),
			"broadcast: func() cannot lie in shared memory":                                       symwin.Broadcast(ctx, team, make([]func(), 1), 0),
			"reduce: bad argument: root 2":                                                        symwin.Reduce(ctx, team, a(1), a(1), symwin.Sum, 2),
			"reduce: bad argument: dst has 1 elements, src 2; they have to be equally long":       symwin.Reduce(ctx, team, a(1), a(2), symwin.Sum, me),
			"reduce: bad argument: dst and src overlap":                                           symwin.Reduce(ctx, team, buf[1:3], buf[:2], symwin.Sum, me),
			"and is not defined on float32, only on integers; floats have sum, prod, min, max":    symwin.AllReduce(ctx, team, f(2), f(2), symwin.And),
			"xor is not defined on float32":                                                       symwin.Reduce(ctx, team, f(2), f(2), symwin.Xor, 0),
			"or is not defined on float32":                                                        symwin.ReduceScatter(ctx, team, f(1), f(2), symwin.Or),
			"Op(0) is no operation; there are sum, prod, min, max, and, or, xor":                  symwin.AllReduce(ctx, team, a(2), a(2), 0),
			"Op(99) is no operation":                                                              symwin.AllReduce(ctx, team, a(2), a(2), 99),
			"allreduce: bad argument: dst has 0 elements, src 2":                                  symwin.AllReduce(ctx, team, nil, a(2), symwin.Sum),
			"allreduce: bad argument: dst and src overlap; in place, the one is exactly":          symwin.AllReduce(ctx, team, buf[1:4], buf[:3], symwin.Sum),
			"reducescatter: bad argument: src has 3 elements; 2 ranks with a dst of 1 need":       symwin.ReduceScatter(ctx, team, a(1), a(3), symwin.Sum),
			"reducescatter: bad argument: src and dst overlap; in place, the one is exactly this": symwin.ReduceScatter(ctx, team, buf[1:3], buf[:4], symwin.Sum),
		} {
			if !errors.Is(err, symwin.ErrUsage) {
				return fmt.Errorf("%v instead of %q", err, text)
			}
			require.ErrorContains(t, err, text)
		}
		done, cancel := context.WithCancel(ctx)
		cancel()
		for _, err := range []error{
			symwin.Barrier(done, team), symwin.AllReduce(done, team, a(1), a(1), symwin.Sum), symwin.AllGather(done, team, a(20000), a(10000)),
			symwin.Gather(done, team, a(2), a(1), 0), symwin.Broadcast(done, team, a(1), 1), symwin.AllGatherv(done, team, a(2), a(2), a(1)),
			symwin.AllToAll(done, team, a(2), a(2)), symwin.AllToAll(done, team, a(20000), a(20000)), symwin.AllToAllv(done, team, a(2), a(2), a(2), both),
			symwin.Scatter(done, team, a(1), a(2), 0), symwin.Reduce(done, team, a(1), a(1), symwin.Sum, 0), symwin.ReduceScatter(done, team, a(1), a(2), symwin.Sum),
		} {
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("context done: %v", err)
			}
		}
		sum := []int{w.Rank()}
		if err := symwin.AllReduce(ctx, team, sum, sum, symwin.Sum); err != nil || sum[0] != 1 {
			return fmt.Errorf("behind all that: %v, %w", sum, err)
		}
		return nil
	}))
}

// TestClosedAndRevokedTeams: no call starts on a team that is over, and others go
// on.
func TestClosedAndRevokedTeams(t *testing.T) {
	require.NoError(t, symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
		one := make([]int, 1)
		all := func(team *symwin.Team) []error {
			return []error{
				symwin.Barrier(ctx, team), symwin.AllReduce(ctx, team, one, one, symwin.Sum), symwin.Broadcast(ctx, team, one, 0),
				symwin.Reduce(ctx, team, one, one, symwin.Sum, 0), symwin.AllGather(ctx, team, make([]int, 40000), make([]int, 20000)),
			}
		}
		closed, err := w.Team().Split(ctx, 0, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(all(closed)...); err != nil {
			return err
		}
		if err := closed.Close(ctx); err != nil {
			return err
		}
		for _, err := range all(closed) {
			if !errors.Is(err, symwin.ErrClosed) {
				return fmt.Errorf("closed: %v", err)
			}
		}
		revoked, err := w.Team().Split(ctx, 0, 0)
		if err != nil {
			return err
		}
		if err := symwin.AllReduce(ctx, revoked, make([]int, 1+w.Rank()), make([]int, 1+w.Rank()), symwin.Sum); !errors.Is(err, symwin.ErrMismatch) {
			return fmt.Errorf("another length: %v", err)
		}
		for _, err := range all(revoked) {
			if !errors.Is(err, symwin.ErrAborted) {
				return fmt.Errorf("revoked: %v", err)
			}
		}
		return errors.Join(all(w.Team())...)
	}))
}

func TestBadAlgo(t *testing.T) {
	for text, want := range map[string]string{
		"alltoall":            `"alltoall" is no operation and engine such as alltoall:ce; operations are alltoall, allgather, gather, scatter, broadcast, reduce, allreduce, reducescatter`,
		"alltoal:ce":          `"alltoal:ce" is no operation`,
		"barrier:ce":          `"barrier:ce" is no operation`,
		"alltoall:cee":        `"cee" is no way to carry alltoall; write ce (copies), bcopy (copies through the staging ring), ll64 (lines) or up to how many bytes`,
		"allgather:ce,x:4K":   `"x:4K" is no operation`,
		"allgather:99999999T": `"99999999T" is no way`,
	} {
		t.Setenv(env.KeyAlgo, text)
		_, err := symwin.Join(context.Background())
		require.ErrorIs(t, err, symwin.ErrUsage)
		require.ErrorContains(t, err, "SYMWIN_ALGO="+fmt.Sprintf("%q", text))
		require.ErrorContains(t, err, want)
		_, told := symwin.FromEnvironment()
		require.EqualError(t, told, err.Error())
		err = symwin.Run(context.Background(), 1, func(ctx context.Context, w *symwin.World) error { return nil })
		require.ErrorIs(t, err, symwin.ErrUsage)
	}
}

// TestNobodyComesBetweenTheCallsOfOneOperation: another goroutine is refused there, whose
// call is known or new, by lines or by copies, and nobody is told of it.
func TestNobodyComesBetweenTheCallsOfOneOperation(t *testing.T) {
	require.NoError(t, symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
		team := w.Team()
		for _, size := range []int{8, 50_000} {
			src, dst := make([]byte, 2*size), make([]byte, 2*size)
			calls := map[string]func() error{
				"alltoall":      func() error { return symwin.AllToAll(ctx, team, dst, src) },
				"allgather":     func() error { return symwin.AllGather(ctx, team, dst, src[:size]) },
				"gather":        func() error { return symwin.Gather(ctx, team, dst, src[:size], 0) },
				"scatter":       func() error { return symwin.Scatter(ctx, team, dst[:size], src, 0) },
				"broadcast":     func() error { return symwin.Broadcast(ctx, team, src, 0) },
				"reduce":        func() error { return symwin.Reduce(ctx, team, dst, src, symwin.Sum, 0) },
				"allreduce":     func() error { return symwin.AllReduce(ctx, team, dst, src, symwin.Sum) },
				"reducescatter": func() error { return symwin.ReduceScatter(ctx, team, dst[:size], src, symwin.Sum) },
				"alltoallv":     func() error { return symwin.AllToAllv(ctx, team, dst, make([]int, 2), src, []int{size, size}) },
			}
			if err := symwin.AllToAll(ctx, team, make([]byte, 4), make([]byte, 4)); err != nil { // opens the engines
				return err
			}
			for _, known := range []bool{false, true} {
				var refused error
				if err := symwin.BetweenTwoCalls(team, func() {
					for name, call := range calls {
						if err := call(); !errors.Is(err, symwin.ErrUsage) || errors.Is(err, symwin.ErrAborted) {
							refused = fmt.Errorf("%s of %d bytes, known %v: %v", name, size, known, err)
						}
					}
				}); err != nil || refused != nil {
					return errors.Join(err, refused)
				}
				for _, name := range slices.Sorted(maps.Keys(calls)) {
					if err := calls[name](); err != nil {
						return fmt.Errorf("%s of %d bytes: %w", name, size, err)
					}
				}
			}
		}
		return nil
	}))
}

// TestTwoGoroutinesOfOneTeam: one of them is refused, and both get right what they get.
func TestTwoGoroutinesOfOneTeam(t *testing.T) {
	const size, calls = 20_000, 300
	require.NoError(t, symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
		both := make(chan error, 2)
		var made atomic.Int32
		for range cap(both) {
			go func() {
				src, dst := make([]byte, 2*size), make([]byte, 2*size)
				for i := range src {
					src[i] = byte(1 + w.Rank())
				}
				for made.Add(1) <= calls {
					clear(dst)
					err := symwin.AllToAll(ctx, w.Team(), dst, src)
					for errors.Is(err, symwin.ErrUsage) {
						runtime.Gosched()
						err = symwin.AllToAll(ctx, w.Team(), dst, src)
					}
					if err != nil || dst[0] != 1 || dst[2*size-1] != 2 {
						both <- fmt.Errorf("%d and %d: %w", dst[0], dst[2*size-1], err)
						return
					}
				}
				both <- nil
			}()
		}
		return errors.Join(<-both, <-both)
	}))
}
