package window_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

func TestPutSignal(t *testing.T) {
	for _, n := range sizes {
		for _, part := range []int{0, 1, 7, 256, 700, 1000} {
			t.Run(fmt.Sprintf("%d ranks, %d elements", n, part), func(t *testing.T) {
				run(t, n, func(ctx context.Context, w *symmem.World) error {
					for range 2 { // the second one in reused memory
						if err := exchange(ctx, w, part, 2*window.Signals+3); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

// TestPutsOfOverlappingMemory: what lies in the window already is moved as copy moves it,
// whichever way puts of that length go.
func TestPutsOfOverlappingMemory(t *testing.T) {
	run(t, 1, func(ctx context.Context, w *symmem.World) error {
		const from = 64 << 10
		win, err := window.Alloc[byte](ctx, w, 1<<20)
		if err != nil {
			return err
		}
		own := win.Local()
		for _, n := range []int{1, 700, 1024, 3000, 4095, 4096, 8 << 10, 40 << 10, 600 << 10} {
			for _, shift := range []int{-64, 64, 1} {
				for what, put := range map[string]func() error{
					"PutSignal": func() error { return win.PutSignal(0, from+shift, own[from:][:n], 0) },
					"Put":       func() error { return win.Put(0, from+shift, own[from:][:n]) },
					"Get":       func() error { return win.Get(0, from, own[from+shift:][:n]) },
				} {
					for i := range own {
						own[i] = byte(i ^ i>>8 ^ i>>16)
					}
					want := bytes.Clone(own)
					copy(want[from+shift:], want[from:][:n])
					if err := put(); err != nil {
						return err
					}
					if !bytes.Equal(want, own) {
						return fmt.Errorf("%s of %d bytes, %d further", what, n, shift)
					}
				}
			}
		}
		return win.Free(ctx)
	})
}

func TestWindowWithoutElementsHasSignals(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[struct{ A, B uint16 }](ctx, w, 0)
		if err != nil {
			return err
		}
		if win.Len() != 0 || len(win.Local()) != 0 {
			return fmt.Errorf("%d elements", win.Len())
		}
		next, before := (w.Rank()+1)%3, (w.Rank()+2)%3
		if err := errors.Join(win.Put(next, 0, nil), win.Signal(next, 5)); err != nil {
			return err
		}
		if _, err := win.WaitSignal(ctx, before, 5, 1); err != nil {
			return err
		}
		return win.Free(ctx)
	})
}

func TestWaitSignalTimesOutAndIsRepeated(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[int32](ctx, w, 1)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			for round := range uint64(3) {
				short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
				count, err := win.WaitSignal(short, 2, 4, round+1)
				cancel()
				var late *symmem.TimeoutError
				if !errors.As(err, &late) || !errors.Is(err, symmem.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || count != round {
					return fmt.Errorf("round %d: %d, %v", round, count, err)
				}
				if len(late.Missing) != 1 || late.Missing[0] != 2 || late.Call.Op != symmem.OpWaitSignal {
					return fmt.Errorf("round %d: missing %v in %v", round, late.Missing, late.Call)
				}
				if err := win.Signal(2, 0); err != nil { // now let it come
					return err
				}
				if count, err = win.WaitSignal(ctx, 2, 4, round+1); err != nil || count != round+1 {
					return fmt.Errorf("round %d, again: %d, %v", round, count, err)
				}
			}
		}
		if w.Rank() == 2 {
			for round := range uint64(3) {
				if _, err := win.WaitSignal(ctx, 1, 0, round+1); err != nil {
					return err
				}
				if err := win.Signal(1, 4); err != nil {
					return err
				}
			}
		}
		return w.Team().Barrier(ctx) // the team was not revoked by any of it
	})
}

func TestWaitSignalEndsWithTheWorld(t *testing.T) {
	cause := errors.New("enough")
	errs := make([]error, 3)
	var counts [3]uint64
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[int32](ctx, w, 1)
		if err != nil {
			return err
		}
		for to := range 3 {
			if err := win.Signal(to, 7); err != nil {
				return err
			}
		}
		if w.Rank() == 0 {
			for r := 1; r < 3; r++ {
				if _, err := win.WaitSignal(ctx, r, 1, 1); err != nil { // it is waiting by then, or soon
					return err
				}
			}
			w.Abort(cause)
			return nil
		}
		if _, err := win.WaitSignal(ctx, 0, 7, 1); err != nil {
			return err
		}
		if err := win.Signal(0, 1); err != nil {
			return err
		}
		_, errs[w.Rank()] = win.WaitSignal(ctx, 0, 0, 1)
		// What has come has come.
		counts[w.Rank()], err = win.WaitSignal(ctx, 0, 7, 1)
		return err
	})
	for r := 1; r < 3; r++ {
		require.ErrorIs(t, errs[r], symmem.ErrAborted)
		require.ErrorContains(t, errs[r], "enough")
		require.EqualValues(t, 1, counts[r])
	}
}
