package lla2a_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

// BenchmarkBlocksAlone is what an all-to-all costs beside the exchange of lines: a
// world of one has nobody to exchange them with.
func BenchmarkBlocksAlone(b *testing.B) {
	for _, size := range []int{8, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			err := symmem.Run(context.Background(), 1, func(ctx context.Context, w *symmem.World) error {
				blocks, err := lla2a.OpenBlocks(ctx, w.Team(), *lla2a.TestCall, size)
				if err != nil {
					return err
				}
				dst, src := make([]byte, size), make([]byte, size)
				call := callOf(symmem.OpAllToAll, size, 0)
				for b.Loop() {
					if err := blocks.AllToAll(ctx, call, dst, src, size); err != nil {
						return err
					}
				}
				return blocks.Close(ctx)
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
