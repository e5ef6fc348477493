package window_test

import (
	"context"
	"testing"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// What the library adds to the stores themselves: put and signal to oneself, and
// a wait that finds its signal.
func BenchmarkPutSignalWait(b *testing.B) {
	benchmark(b, func(ctx context.Context, win *window.Window[uint64], _ *symmem.World) {
		src := make([]uint64, 1)
		for k := range uint64(b.N) {
			_ = win.PutSignal(0, 5, src, 0)
			_, _ = win.WaitSignal(ctx, 0, 0, k+1)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	benchmark(b, func(_ context.Context, win *window.Window[uint64], _ *symmem.World) {
		src := make([]uint64, 1)
		for range b.N {
			_ = win.Put(0, 5, src)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	outside := make([]uint64, 5)
	b.Run("inside", func(b *testing.B) {
		benchmark(b, func(_ context.Context, win *window.Window[uint64], w *symmem.World) {
			s := win.Local()[3:7]
			for range b.N {
				window.Find(w, s)
			}
		})
	})
	b.Run("outside", func(b *testing.B) {
		benchmark(b, func(_ context.Context, _ *window.Window[uint64], w *symmem.World) {
			for range b.N {
				window.Find(w, outside)
			}
		})
	})
}

func benchmark(b *testing.B, f func(context.Context, *window.Window[uint64], *symmem.World)) {
	err := symmem.Run(context.Background(), 1, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[uint64](ctx, w, 1000)
		if err != nil {
			return err
		}
		b.ReportAllocs()
		b.ResetTimer()
		f(ctx, win, w)
		b.StopTimer()
		return win.Free(ctx)
	})
	if err != nil {
		b.Fatal(err)
	}
}
