package lla2a_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

func TestBlocks(t *testing.T) {
	for _, n := range worlds {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(n, " ranks ", seed), func(t *testing.T) {
				run(t, n, func(ctx context.Context, w *symmem.World) error {
					return blocks(ctx, w, 4*uint64(n)+seed, 0, 100)
				})
			})
		}
	}
}

func TestBlocksThroughTheWrap(t *testing.T) {
	for _, n := range worlds {
		for before := range uint64(6) {
			t.Run(fmt.Sprint(n, " ranks ", before), func(t *testing.T) {
				run(t, n, func(ctx context.Context, w *symmem.World) error {
					if err := blocks(ctx, w, before, lla2a.Lap-1-before, 20); err != nil {
						return err
					}
					return blocks(ctx, w, 10+before, 2*lla2a.Lap-1-5*before, 40)
				})
			})
		}
	}
}

func TestBlocksBetweenProcesses(t *testing.T) {
	for _, n := range worlds {
		for _, scenario := range []string{"blocks in slots", "blocks in common"} {
			t.Run(fmt.Sprint(n, scenario), func(t *testing.T) { ranktest.Start(t, n, scenario).Wait() })
		}
	}
}

// TestBlocksTakeNoOtherCallsData: members call different things in one epoch, and
// nobody gets data of another call. Whoever waits for anything is told so.
func TestBlocksTakeNoOtherCallsData(t *testing.T) {
	type play func(context.Context, *lla2a.Blocks) error
	toAll := func(size, elt int) play {
		return func(ctx context.Context, b *lla2a.Blocks) error {
			c := callOf(symmem.OpAllToAll, size/elt, 0)
			c.EltSize = elt
			return b.AllToAll(ctx, c, make([]byte, 2*size), make([]byte, 2*size), size)
		}
	}
	gather := func(size int) play {
		return func(ctx context.Context, b *lla2a.Blocks) error {
			return b.AllGather(ctx, callOf(symmem.OpAllGather, size, 0), make([]byte, 2*size), make([]byte, size))
		}
	}
	toRoot := func(size, root int) play {
		return func(ctx context.Context, b *lla2a.Blocks) error {
			return b.Gather(ctx, callOf(symmem.OpGather, size, root), make([]byte, 2*size), make([]byte, size), root)
		}
	}
	deal := func(size, root int) play {
		return func(ctx context.Context, b *lla2a.Blocks) error {
			return b.Scatter(ctx, callOf(symmem.OpScatter, size, root), make([]byte, size), make([]byte, 2*size), root)
		}
	}
	digest := func(d uint64) play {
		return func(ctx context.Context, b *lla2a.Blocks) error {
			c := callOf(symmem.OpAllReduce, 8, 0)
			c.Digest = d
			return b.AllReduce(ctx, c, make([]byte, 8), make([]byte, 8), inOrder)
		}
	}
	cast := func(size, root int) play {
		return func(ctx context.Context, b *lla2a.Blocks) error {
			return b.Broadcast(ctx, callOf(symmem.OpBroadcast, size, root), make([]byte, size), root)
		}
	}
	for what, plays := range map[string][2]play{
		"sizes in as many lines":          {toAll(3, 1), toAll(8, 1)},
		"sizes in more lines":             {toAll(100, 1), toAll(1000, 1)},
		"sizes in other slots":            {toAll(8, 1), toAll(100, 1)},
		"nothing and something":           {toAll(0, 1), toAll(8, 1)},
		"element sizes":                   {toAll(64, 8), toAll(64, 4)},
		"operations":                      {gather(8), digest(0)},
		"operations with other memory":    {toAll(8, 1), gather(8)},
		"reductions":                      {digest(1), digest(2)},
		"roots":                           {cast(8, 1), cast(8, 0)}, // both wait
		"broadcast and all-to-all":        {toAll(8, 1), cast(8, 0)},
		"broadcasts of other sizes":       {cast(8, 1), cast(9, 1)},
		"broadcasts of small and large":   {cast(8, 1), cast(900, 1)},
		"broadcast and all-gather, large": {gather(500), cast(500, 0)},
		"gathers of other sizes":          {toRoot(8, 0), toRoot(9, 0)},
		"gathers of small and large":      {toRoot(8, 0), toRoot(900, 0)},
		"gather and all-gather":           {toRoot(8, 0), gather(8)},
		"roots of gathers":                {toRoot(8, 1), toRoot(8, 0)}, // neither waits
		"scatters of other sizes":         {deal(4, 0), deal(5, 0)},
		"scatter and broadcast":           {deal(4, 0), cast(8, 0)},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprint(what, shared), func(t *testing.T) {
				mismatch(t, shared, func(ctx context.Context, w *symmem.World, b *lla2a.Blocks) error {
					for range 3 {
						if err := toAll(8, 1)(ctx, b); err != nil {
							return err
						}
					}
					if err := plays[w.Rank()](ctx, b); err != nil {
						return err
					}
					// A root that had nothing to wait for: it hears of it in the next call.
					return toAll(8, 1)(ctx, b)
				})
			})
		}
	}
}

// mismatch runs f as two ranks and wants the mismatch found on one, and the other
// to hear of it.
func mismatch(t *testing.T, shared bool, f func(context.Context, *symmem.World, *lla2a.Blocks) error) {
	errs := make([]error, 2)
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		b, err := lla2a.OpenBlocksShared(ctx, w.Team(), mostOfBlocks, shared)
		if err != nil {
			return err
		}
		errs[w.Rank()] = f(ctx, w, b)
		return nil
	})
	for r, err := range errs {
		if !errors.Is(err, symmem.ErrMismatch) {
			require.ErrorIs(t, err, symmem.ErrAborted, "rank %d", r)
		}
	}
	require.ErrorIs(t, errors.Join(errs...), symmem.ErrMismatch)
}

// TestTwoRootsAreFoundOut: each of two members takes itself for the root, so
// neither waits; the next call they receive anything in tells.
func TestTwoRootsAreFoundOut(t *testing.T) {
	for _, shared := range []bool{false, true} {
		mismatch(t, shared, func(ctx context.Context, w *symmem.World, b *lla2a.Blocks) error {
			if err := b.Broadcast(ctx, callOf(symmem.OpBroadcast, 8, w.Rank()), make([]byte, 8), w.Rank()); err != nil {
				return err
			}
			return b.AllGather(ctx, callOf(symmem.OpAllGather, 8, 0), make([]byte, 16), make([]byte, 8))
		})
	}
}

// TestTheRootWaitsForRoom: a root of broadcasts runs ahead of a member that sleeps, as
// far as there is room and no further: sixteen calls of small blocks, two of others,
// and of both in turns as far as either lets it.
func TestTheRootWaitsForRoom(t *testing.T) {
	const small, large = lla2a.BoardBlock, lla2a.BoardBlock + 1
	for _, c := range []struct {
		name  string
		sizes []int // of calls in turns
		ahead uint64
	}{
		{"small", []int{small}, 16},
		{"large", []int{large}, 2},
		{"in turns", []int{large, small, small}, 3}, // the second large one waits as if those in between were large
	} {
		t.Run(c.name, func(t *testing.T) {
			release := make(chan struct{})
			run(t, 3, func(ctx context.Context, w *symmem.World) error {
				b, err := lla2a.OpenBlocks(ctx, w.Team(), *lla2a.TestCall, large)
				if err != nil {
					return err
				}
				if w.Rank() == 1 {
					<-release
				}
				for i := range uint64(50) {
					size := c.sizes[i%uint64(len(c.sizes))]
					buf, want := make([]byte, size), make([]byte, size)
					fill(want, i, 0, broadcast, size)
					if w.Rank() == 0 {
						copy(buf, want)
						if i == c.ahead {
							time.AfterFunc(3*time.Millisecond, func() { close(release) })
						}
					}
					if err := b.Broadcast(ctx, callOf(symmem.OpBroadcast, size, 0), buf, 0); err != nil {
						return err
					}
					if !bytes.Equal(buf, want) {
						return fmt.Errorf("rank %d, broadcast %d: overwritten: %x", w.Rank(), i, buf)
					}
				}
				return b.Close(ctx)
			})
		})
	}
}

// TestBlocksGiveUp: every wait of every operation ends with its context, saying
// whom it waited for, and the others are told.
func TestBlocksGiveUp(t *testing.T) {
	buf := func(n int) []byte { return make([]byte, n) }
	for what, play := range map[string]func(context.Context, *lla2a.Blocks) error{
		"all-to-all": func(ctx context.Context, b *lla2a.Blocks) error {
			return b.AllToAll(ctx, callOf(symmem.OpAllToAll, 100, 0), buf(200), buf(200), 100)
		},
		"all-gather": func(ctx context.Context, b *lla2a.Blocks) error {
			return b.AllGather(ctx, callOf(symmem.OpAllGather, 8, 0), buf(16), buf(8))
		},
		"all-reduce": func(ctx context.Context, b *lla2a.Blocks) error {
			return b.AllReduce(ctx, callOf(symmem.OpAllReduce, 8, 0), buf(8), buf(8), inOrder)
		},
		"broadcast": func(ctx context.Context, b *lla2a.Blocks) error {
			return b.Broadcast(ctx, callOf(symmem.OpBroadcast, 8, 1), buf(8), 1)
		},
		"room": func(ctx context.Context, b *lla2a.Blocks) error {
			for range 16 {
				if err := b.Broadcast(context.WithoutCancel(ctx), callOf(symmem.OpBroadcast, 8, 0), buf(8), 0); err != nil {
					return err
				}
			}
			return b.Broadcast(ctx, callOf(symmem.OpBroadcast, 8, 0), buf(8), 0) // there is no room
		},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprint(what, shared), func(t *testing.T) {
				given := make(chan struct{})
				run(t, 2, func(ctx context.Context, w *symmem.World) error {
					b, err := lla2a.OpenBlocksShared(ctx, w.Team(), 100, shared)
					if err != nil {
						return err
					}
					if w.Rank() == 1 {
						<-given
						if err := play(ctx, b); !errors.Is(err, symmem.ErrAborted) {
							return fmt.Errorf("after the other gave up: %v", err)
						}
						return nil
					}
					defer close(given)
					short := ranktest.Inside(ctx, context.DeadlineExceeded)
					var late *symmem.TimeoutError
					if err := play(short, b); !errors.As(err, &late) || len(late.Missing) != 1 || late.Missing[0] != 1 {
						return fmt.Errorf("alone: %v", err)
					}
					return nil
				})
			})
		}
	}
}

func TestBlocksMisuse(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		for _, most := range []int{-1, 1 << 30} {
			if _, err := lla2a.OpenBlocks(ctx, w.Team(), *lla2a.TestCall, most); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("blocks of %d: %v", most, err)
			}
		}
		for range 3 {
			if _, err := lla2a.OpenBlocks(ctx, w.Team(), *lla2a.TestCall, 1<<23); !errors.Is(err, symmem.ErrNoSpace) {
				return fmt.Errorf("without room: %v", err)
			}
		}
		b, err := lla2a.OpenBlocks(ctx, w.Team(), *lla2a.TestCall, 100)
		if err != nil {
			return err
		}
		call, big := lla2a.TestCall, make([]byte, 300)
		for what, err := range map[string]error{
			"too large":        b.AllToAll(ctx, call, big[:202], big, 101),
			"below nothing":    b.AllToAll(ctx, call, nil, big, -1),
			"large gather":     b.AllGather(ctx, call, big[:202], big[:101]),
			"large reduction":  b.AllReduce(ctx, call, big[:101], big[:101], inOrder),
			"short dst":        b.AllToAll(ctx, call, big[:15], big, 8),
			"short src":        b.AllToAll(ctx, call, big[:16], big[:15], 8),
			"uneven gather":    b.AllGather(ctx, call, big[:17], big[:8]),
			"uneven reduction": b.AllReduce(ctx, call, big[:9], big[:8], inOrder),
			"uneven parts":     b.ReduceScatter(ctx, call, big[:4], big[:9], inOrder),
			"large broadcast":  b.Broadcast(ctx, call, big[:101], 0),
			"large scatter":    b.Scatter(ctx, call, big[:51], big[:102], 0),
			"root below 0":     b.Broadcast(ctx, call, big[:8], -1),
			"no such root":     b.Broadcast(ctx, call, big[:8], 2),
		} {
			if !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("%s: %v", what, err)
			}
		}
		if err := b.AllToAll(ctx, call, big[:100], big[100:200], 50); err != nil {
			return fmt.Errorf("after misuse: %w", err)
		}
		return b.Close(ctx)
	})
}

func TestBlocksAllocateNothing(t *testing.T) {
	for _, shared := range []bool{false, true} {
		require.Zero(t, allocations(t, shared))
	}
}

func allocations(t *testing.T, shared bool) (allocs float64) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		b, err := lla2a.OpenBlocksShared(ctx, w.Team(), 1000, shared)
		if err != nil {
			return err
		}
		dst, src := make([]byte, 2000), make([]byte, 2000)
		ctx = context.WithoutCancel(ctx) // a wait that parks for long allocates what rings at its context's end
		once := func() {
			for _, size := range []int{8, 1000} {
				if err := errors.Join(
					b.AllToAll(ctx, lla2a.TestCall, dst[:2*size], src, size),
					b.AllGather(ctx, lla2a.TestCall, dst[:2*size], src[:size]),
					b.AllReduce(ctx, lla2a.TestCall, dst[:size], src[:size], inOrder),
					b.Broadcast(ctx, lla2a.TestCall, dst[:size], 0),
					b.Broadcast(ctx, lla2a.TestCall, dst[:size], 1),
				); err != nil {
					panic(err)
				}
			}
		}
		if w.Rank() == 0 {
			allocs = testing.AllocsPerRun(200, once)
		} else {
			for range 201 {
				once()
			}
		}
		return b.Close(ctx)
	})
	return allocs
}

// A second goroutine that is refused leaves the call under way as it is: what that has
// still to read lies where it did.
func TestWhoIsRefusedChangesNothing(t *testing.T) {
	const size = lla2a.BoardBlock + 1 // it lies in a slot, and not on a board
	inside := make(chan struct{})
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		b, err := lla2a.OpenBlocks(ctx, w.Team(), *lla2a.TestCall, 2*size)
		if err != nil {
			return err
		}
		call := callOf(symmem.OpScatter, size, 0)
		if w.Rank() == 0 {
			src := make([]byte, 2*size)
			fill(src[size:], 1, 0, 1, size)
			<-inside
			return errors.Join(b.Scatter(ctx, call, src[:size], src, 0), b.Close(ctx))
		}
		go func() {
			defer close(inside)
			over, cancel := context.WithCancel(ctx)
			cancel() // or it would go in, were it the first
			for {
				if err := b.Broadcast(over, callOf(symmem.OpBroadcast, 8, 0), make([]byte, 8), 0); errors.Is(err, symmem.ErrUsage) {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		got, want := make([]byte, size), make([]byte, size)
		fill(want, 1, 0, 1, size)
		if err := b.Scatter(ctx, call, got, nil, 0); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("got %x", got)
		}
		return b.Close(ctx)
	})
}
