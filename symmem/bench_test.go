package symmem_test

import (
	"context"
	"testing"

	"github.com/symwin/symwin/symmem"
)

// BenchmarkBarrierAlone is what a barrier costs beside the exchange of lines:
// its checks, its record and its two locked instructions.
func BenchmarkBarrierAlone(b *testing.B) {
	err := symmem.Run(context.Background(), 1, func(ctx context.Context, w *symmem.World) error {
		for b.Loop() {
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
