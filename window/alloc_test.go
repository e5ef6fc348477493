package window_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Another length, another type of the same size, an area or a barrier instead:
// every rank is told who it was.
func TestAllocMismatchNamesTheOddRank(t *testing.T) {
	alloc := func(ctx context.Context, w *symmem.World) error {
		_, err := window.Alloc[int32](ctx, w, 8)
		return err
	}
	for what, other := range map[string]func(context.Context, *symmem.World) error{
		"length": func(ctx context.Context, w *symmem.World) error {
			_, err := window.Alloc[int32](ctx, w, 9)
			return err
		},
		"type": func(ctx context.Context, w *symmem.World) error {
			_, err := window.Alloc[float32](ctx, w, 8)
			return err
		},
		"size": func(ctx context.Context, w *symmem.World) error {
			_, err := window.Alloc[int64](ctx, w, 8)
			return err
		},
		"area": func(ctx context.Context, w *symmem.World) error {
			_, err := window.OpenArea(ctx, w.Team(), opening(8), 32)
			return err
		},
		"barrier": func(ctx context.Context, w *symmem.World) error { return w.Team().Barrier(ctx) },
	} {
		t.Run(what, func(t *testing.T) {
			errs := make([]error, 5)
			run(t, 5, func(ctx context.Context, w *symmem.World) error {
				call := alloc
				if w.Rank() == 3 {
					call = other
				}
				errs[w.Rank()] = call(ctx, w)
				return nil
			})
			for r, err := range errs {
				require.ErrorIs(t, err, symmem.ErrMismatch, "rank %d", r)
				require.ErrorContains(t, err, "rank 3", "rank %d", r)
				var all *symmem.MismatchError
				if errors.As(err, &all) { // else told through the revoked team
					require.Equal(t, []int{3}, all.Odd, "rank %d", r)
				}
			}
		})
	}
}

func TestFreeOfAnotherWindowNamesTheOddRank(t *testing.T) {
	errs := make([]error, 4)
	run(t, 4, func(ctx context.Context, w *symmem.World) error {
		var wins [2]*window.Window[byte]
		for i := range wins {
			var err error
			if wins[i], err = window.Alloc[byte](ctx, w, 100); err != nil {
				return err
			}
		}
		which := 0
		if w.Rank() == 2 {
			which = 1
		}
		errs[w.Rank()] = wins[which].Free(ctx)
		return nil
	})
	for r, err := range errs {
		require.ErrorIs(t, err, symmem.ErrMismatch, "rank %d", r)
		require.ErrorContains(t, err, "rank 2", "rank %d", r)
	}
}

// A window too small on all ranks, or on one whose upper end is taken: all
// return the same error, nothing stays taken, and a smaller one can be had.
func TestNoRoomIsAgreedUpon(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			odd := n - 1
			run(t, n, func(ctx context.Context, w *symmem.World) error {
				refused := func(bytes int, rank int, have int64) error {
					_, err := window.Alloc[byte](ctx, w, bytes)
					var short *symmem.NoSpaceError
					if !errors.As(err, &short) || short.Rank != rank || short.Need < int64(bytes) || short.Need > int64(bytes)+1<<16 ||
						short.Have != have || short.Where != "the window (--window)" {
						return fmt.Errorf("%d bytes: %v", bytes, err)
					}
					return nil
				}
				if err := errors.Join(refused(17<<20, 0, 16<<20), refused(1<<50, 0, 16<<20)); err != nil {
					return err
				}
				color := -1
				if w.Rank() == odd {
					color = 0
				}
				alone, err := w.Team().Split(ctx, color, 0)
				if err != nil {
					return err
				}
				var hog *window.Area
				if alone != nil {
					if hog, err = window.OpenArea(ctx, alone, opening(1), 9<<20); err != nil {
						return err
					}
				}
				for range 3 {
					if err := refused(8<<20, odd, 7<<20); err != nil {
						return err
					}
				}
				small, err := window.Alloc[byte](ctx, w, 6<<20)
				if err != nil {
					return fmt.Errorf("what fits: %w", err)
				}
				if small.At(0, 0).Offset() != 0 {
					return fmt.Errorf("it lies at %d: a refused one is in the way", small.At(0, 0).Offset())
				}
				if hog != nil {
					if err := hog.Close(ctx); err != nil {
						return err
					}
				}
				large, err := window.Alloc[byte](ctx, w, 9<<20)
				if err != nil {
					return err
				}
				return errors.Join(small.Free(ctx), large.Free(ctx))
			})
		})
	}
}

type route struct {
	From, To uint16
	Hops     [4]struct {
		Cost float32
		Name string
	}
}

func TestTypesWithPointersAreRefused(t *testing.T) {
	ctx := context.Background()
	run(t, 1, func(_ context.Context, w *symmem.World) error {
		_, str := window.Alloc[string](ctx, w, 1)
		_, ptr := window.Alloc[*int](ctx, w, 1)
		_, deep := window.Alloc[route](ctx, w, 1)
		for _, c := range []struct {
			err         error
			field, kind string
		}{
			{str, "", "string"}, {ptr, "", "ptr"}, {deep, ".Hops[].Name", "string"},
			{window.CheckType[[3]map[int]int](), "[]", "map"}, {window.CheckType[any](), "", "interface"},
			{window.CheckType[struct{ F func() }](), ".F", "func"}, {window.CheckType[[]byte](), "", "slice"},
			{window.CheckType[chan int](), "", "chan"},
		} {
			var bad *window.TypeError
			if !errors.As(c.err, &bad) || !errors.Is(c.err, symmem.ErrUsage) || bad.Field != c.field {
				return fmt.Errorf("%s: %v", c.kind, c.err)
			}
			require.ErrorContains(t, c.err, c.kind)
			require.ErrorContains(t, c.err, bad.Type+bad.Field)
		}
		return errors.Join(window.CheckType[int](), window.CheckType[uintptr](), window.CheckType[complex64](),
			window.CheckType[[2][3]struct{ A, B bool }](), window.CheckType[[0]string](), window.CheckType[struct{}]())
	})
}

// What is wrong here alone does not count as a call: the others' goes on.
func TestLocalErrorsOfAllocDoNotCount(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		if w.Rank() == 0 {
			done, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := window.Alloc[int32](done, w, 8); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("context done: %v", err)
			}
			for _, n := range []int{-1, math.MinInt, math.MaxInt, math.MaxInt/4 + 1} {
				if _, err := window.Alloc[int32](ctx, w, n); !errors.Is(err, symmem.ErrUsage) {
					return fmt.Errorf("%d elements: %v", n, err)
				}
			}
			for _, n := range []int64{-1, math.MaxInt64, math.MinInt64} {
				if _, err := window.OpenArea(ctx, w.Team(), opening(0), n); !errors.Is(err, symmem.ErrUsage) {
					return fmt.Errorf("area of %d bytes: %v", n, err)
				}
			}
		}
		win, err := window.Alloc[int32](ctx, w, 8)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			done, cancel := context.WithCancel(ctx)
			cancel()
			if err := win.Free(done); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("free, context done: %v", err)
			}
			if err := win.Put(0, 0, make([]int32, 8)); err != nil {
				return fmt.Errorf("after a Free that did not count: %w", err)
			}
		}
		return win.Free(ctx)
	})
}

// A second Alloc beside one that waits is refused at once, and harms nothing.
func TestAllocsAreOneAtATime(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		if w.Rank() == 1 {
			w0, err := window.Alloc[byte](ctx, w, 1<<20)
			if err != nil {
				return err
			}
			if _, err := w0.WaitSignal(ctx, 0, 0, 1); err != nil {
				return err
			}
			_, err = window.Alloc[byte](ctx, w, 1<<20)
			return err
		}
		win, err := window.Alloc[byte](ctx, w, 1<<20)
		if err != nil {
			return err
		}
		result := make(chan error)
		go func() {
			_, err := window.Alloc[byte](ctx, w, 1<<20) // waits for rank 1
			result <- err
		}()
		for refused := 0; refused < 3; {
			short, cancel := context.WithTimeout(ctx, 0)
			_, err := window.Alloc[byte](short, w, 1<<20)
			cancel()
			switch {
			case errors.Is(err, symmem.ErrUsage):
				refused++
			case !errors.Is(err, context.DeadlineExceeded): // the first was not inside yet
				return fmt.Errorf("beside another: %v", err)
			}
			time.Sleep(time.Millisecond)
		}
		if err := win.Free(ctx); !errors.Is(err, symmem.ErrUsage) {
			return fmt.Errorf("free beside an alloc: %v", err)
		}
		if err := win.Signal(1, 0); err != nil {
			return err
		}
		return <-result
	})
}

// Calls that another goroutine makes in vain leave no trace in the order.
func TestVainAllocsDoNotDisturb(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		done, cancel := context.WithCancel(ctx)
		cancel()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for w.Rank() == 0 {
				select {
				case <-stop:
					return
				default:
					_, _ = window.Alloc[byte](done, w, 1<<20)
					runtime.Gosched() // with one CPU each round would take a time slice of this
				}
			}
		}()
		defer func() { close(stop); <-stopped }()
		insist := func(f func() error) error {
			for {
				if err := f(); !errors.Is(err, symmem.ErrUsage) { // ErrUsage: the other is inside
					return err
				}
				runtime.Gosched()
			}
		}
		for round := range 3000 {
			var win *window.Window[byte]
			err := insist(func() (err error) { win, err = window.Alloc[byte](ctx, w, 1<<10); return })
			if err == nil {
				err = insist(func() error { return win.Free(ctx) })
			}
			if err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
		return nil
	})
}

// A random program of allocations, frees, areas of overlapping teams, the same
// on all ranks where it must be: whatever lives keeps its contents, whatever is
// new is zero, and offsets agree.
func TestRandomProgram(t *testing.T) {
	const seed = 20
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	require.NoError(t, symmem.RunWith(ctx, symmem.Options{Size: 4, Window: 2 << 20}, func(ctx context.Context, w *symmem.World) error {
		return program(ctx, w, seed, 150)
	}))
}
