//go:build linux && (amd64 || arm64)

package symwin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/lla2a"
)

// underTruncation are the calls of a rank whose region is truncated meanwhile:
// each makes one call, over and over, until it fails.
var underTruncation = map[string]func(ctx context.Context, w *symwin.World, win *symwin.Window[uint64]) error{
	"barrier": func(ctx context.Context, w *symwin.World, _ *symwin.Window[uint64]) error {
		return repeat(func() error { return w.Team().Barrier(ctx) })
	},
	"small": func(ctx context.Context, w *symwin.World, _ *symwin.Window[uint64]) error {
		dst, src := make([]uint64, w.Size()), make([]uint64, w.Size())
		return repeat(func() error { return symwin.AllToAll(ctx, w.Team(), dst, src) })
	},
	"large": func(ctx context.Context, w *symwin.World, _ *symwin.Window[uint64]) error {
		dst, src := make([]uint64, w.Size()<<15), make([]uint64, w.Size()<<15)
		return repeat(func() error { return symwin.AllToAll(ctx, w.Team(), dst, src) })
	},
	"reduce": func(ctx context.Context, w *symwin.World, _ *symwin.Window[uint64]) error {
		v := make([]uint64, 8)
		return repeat(func() error { return symwin.AllReduce(ctx, w.Team(), v, v, symwin.Sum) })
	},
	"broadcast": func(ctx context.Context, w *symwin.World, _ *symwin.Window[uint64]) error {
		v := make([]uint64, 8)
		return repeat(func() error { return symwin.Broadcast(ctx, w.Team(), v, 0) })
	},
	"session": func(ctx context.Context, w *symwin.World, _ *symwin.Window[uint64]) error {
		s, err := lla2a.Open[uint64](ctx, w.Team(), 1)
		if err != nil {
			return err
		}
		other := 1 - w.Rank()
		return repeat(func() error {
			if err := s.Send(ctx, other, 0, 1); err != nil {
				return err
			}
			if _, err := s.Recv(ctx, other, 0); err != nil {
				return err
			}
			return s.EndEpoch(ctx)
		})
	},
	"put": func(_ context.Context, w *symwin.World, win *symwin.Window[uint64]) error {
		v := make([]uint64, 1000)
		return repeat(func() error { return win.Put(1-w.Rank(), 0, v) })
	},
	"signal": func(_ context.Context, w *symwin.World, win *symwin.Window[uint64]) error {
		return repeat(func() error { return win.PutSignal(1-w.Rank(), 0, []uint64{1}, 0) })
	},
	"get": func(_ context.Context, w *symwin.World, win *symwin.Window[uint64]) error {
		v := make([]uint64, 1000)
		return repeat(func() error { return win.Get(1-w.Rank(), 0, v) })
	},
	// The program's own accesses fault as little; the next call tells.
	"local": func(_ context.Context, w *symwin.World, win *symwin.Window[uint64]) error {
		return repeat(func() error {
			for i := range win.Local() {
				win.Local()[i]++
			}
			return win.Put(w.Rank(), 0, nil)
		})
	},
	"wait": func(ctx context.Context, w *symwin.World, win *symwin.Window[uint64]) error {
		_, err := win.WaitSignal(ctx, 1-w.Rank(), 0, 1)
		return err
	},
	"batch": func(ctx context.Context, w *symwin.World, win *symwin.Window[uint64]) error {
		s, err := ce.Open(ctx, w.Team(), ce.Options{Workers: 2})
		if err != nil {
			return err
		}
		var b ce.Batch
		ce.Put(&b, 1-w.Rank(), win.At(0, win.Len()), make([]uint64, win.Len()))
		return repeat(func() error { return s.Start(&b).Wait(ctx) })
	},
	"alloc": func(ctx context.Context, w *symwin.World, _ *symwin.Window[uint64]) error {
		return repeat(func() error {
			win, err := symwin.Alloc[uint64](ctx, w, 1000)
			if err != nil {
				return err
			}
			return win.Free(ctx)
		})
	},
	"split": func(ctx context.Context, w *symwin.World, _ *symwin.Window[uint64]) error {
		return repeat(func() error {
			t, err := w.Team().Split(ctx, 0, 0)
			if err != nil {
				return err
			}
			return t.Close(ctx)
		})
	},
}

func repeat(call func() error) error {
	for {
		if err := call(); err != nil {
			return err
		}
	}
}

const underVar = "UNDER_TRUNCATION"

func init() { scenarios["truncated"] = truncated }

// truncated is a rank of TestRegionTruncatedUnderEveryCall.
func truncated(ctx context.Context) error {
	w, err := symwin.Join(ctx)
	if err != nil {
		return err
	}
	win, err := symwin.Alloc[uint64](ctx, w, 100_000)
	if err != nil {
		return err
	}
	fmt.Println("turning")
	err = underTruncation[os.Getenv(underVar)](ctx, w, win)
	if !errors.Is(err, symwin.ErrRegion) {
		return fmt.Errorf("not ErrRegion: %w", err)
	}
	for range 3 {
		if err := w.Team().Barrier(ctx); !errors.Is(err, symwin.ErrRegion) {
			return fmt.Errorf("a later call: %w", err)
		}
	}
	for i := range win.Local() {
		win.Local()[i]++
	}
	return w.Close()
}

// TestRegionTruncatedUnderEveryCall: whatever two ranks are doing, when their
// file is cut, all of it or the windows only, both get ErrRegion, from that call
// and from all later ones, and leave as usual.
func TestRegionTruncatedUnderEveryCall(t *testing.T) {
	const windows = 4 << 20 // where those of two ranks begin
	for call := range underTruncation {
		for _, keep := range []int64{0, windows} {
			if keep > 0 && (call == "barrier" || call == "split" || call == "alloc") {
				continue // they touch no window
			}
			t.Run(fmt.Sprint(call, " ", keep), func(t *testing.T) {
				t.Parallel()
				j := ranktest.Start(t, 2, "truncated", underVar+"="+call, "SYMWIN_BACKING=shm", "SYMWIN_STALL=20s")
				for _, r := range j.Ranks {
					r.Await(t, "turning")
				}
				time.Sleep(2 * time.Millisecond)
				dir := fmt.Sprintf("/proc/%d/fd/", j.Ranks[0].Pid())
				fds, err := os.ReadDir(dir)
				require.NoError(t, err)
				cut := 0
				for _, fd := range fds {
					if to, _ := os.Readlink(dir + fd.Name()); strings.Contains(to, j.Name) {
						require.NoError(t, os.Truncate(dir+fd.Name(), keep))
						cut++
					}
				}
				require.Equal(t, 1, cut)
				j.Wait()
			})
		}
	}
}
