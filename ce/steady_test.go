package ce_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// TestSteadyStateAllocatesNothing, in any operation.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	// Goroutines that end on another CPU than they began on leave their descriptors
	// there, of which each keeps up to 64; so many are no allocation an operation.
	const rounds = 1000
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		ctx = context.WithoutCancel(ctx) // a wait that parks for long allocates what rings at its context's end
		return withStream(ctx, w, ce.Options{Workers: 1}, 2<<10, func(s *ce.Stream, win *window.Window[uint64]) error {
			v, err := ce.OpenViews[uint64](ctx, w.Team(), 10)
			if err != nil {
				return err
			}
			src, dst := make([]byte, 2*40_000), make([]byte, 2*40_000)
			parts, sources := make([]ce.Part, 2), make([]ce.Part, 2)
			for r := range parts {
				parts[r] = ce.Part{Src: src[r*40_000:][:40_000], Dst: dst[r*40_000:][:40_000]}
				sources[r] = ce.Part{Src: parts[r].Src}
			}
			var f ce.Folder = ignore{}
			var b, c, large ce.Batch
			words := make([]uint64, 1<<10)
			for to := range 2 {
				ce.Put(&b, to, win.At(w.Rank()<<10, 1<<10), words)
				ce.Put(&c, to, win.At(w.Rank()<<10, 5), words[:5])
			}
			for range 64 { // enough for Start to give the CPU to it
				ce.Put(&large, 0, win.At(0, 1<<10), words)
				ce.Put(&large, 1, win.At(1<<10, 1<<10), words)
			}
			fold := allToAllCall
			fold.EltSize = 8
			for _, op := range []struct {
				name string
				f    func() error
			}{
				{"run", func() error { return s.Run(ctx, &b) }},
				{"exchange", func() error { return s.Exchange(ctx, allToAllCall, parts, false, nil) }},
				{"votes", func() error { return s.Exchange(ctx, allToAllCall, parts, true, nil) }},
				{"fold", func() error { return s.Fold(ctx, fold, sources, 40_000, false, f) }},
				{"start", func() error { p := s.Start(&b); return s.Start(&c, p).Wait(ctx) }},
				{"start a large one", func() error { return s.Start(&large).Wait(ctx) }},
				{"views", func() error {
					if _, err := v.Buffer(ctx); err != nil {
						return err
					}
					seen, err := v.Exchange(ctx)
					if err == nil {
						seen.Release()
					}
					return err
				}},
			} {
				var before, after runtime.MemStats
				for round := range 2 * rounds {
					if round == rounds {
						if err := w.Team().Barrier(ctx); err != nil {
							return err
						}
						runtime.ReadMemStats(&before)
					}
					if err := op.f(); err != nil {
						return err
					}
				}
				runtime.ReadMemStats(&after)
				// Both ranks' operations count.
				if n := after.Mallocs - before.Mallocs; n > rounds/10 {
					return fmt.Errorf("%s: %d allocations in %d operations", op.name, n, rounds)
				}
				if err := w.Team().Barrier(ctx); err != nil {
					return err
				}
			}
			return v.Close(ctx)
		})
	})
}

type ignore struct{}

func (ignore) Fold(int, [][]byte) {}
