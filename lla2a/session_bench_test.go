package lla2a_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// BenchmarkAlone is an epoch of a world of one, an element sent to itself: what
// the instructions cost, without a cache miss.
func BenchmarkAlone(b *testing.B) {
	alone[[8]byte](b)
	alone[[16]byte](b)
	alone[[64]byte](b)
	alone[[256]byte](b)
	alone[[1024]byte](b)
	alone[[4096]byte](b)
}

func alone[T any](b *testing.B) {
	b.Run(fmt.Sprint(window.SizeOf[T]()), func(b *testing.B) {
		b.SetBytes(int64(window.SizeOf[T]()))
		err := symmem.Run(context.Background(), 1, func(ctx context.Context, w *symmem.World) error {
			s, err := lla2a.Open[T](ctx, w.Team(), 1)
			if err != nil {
				return err
			}
			var v T
			b.ResetTimer()
			for range b.N {
				if err := s.Send(ctx, 0, 0, v); err != nil {
					return err
				}
				if v, err = s.Recv(ctx, 0, 0); err != nil {
					return err
				}
				if err := s.EndEpoch(ctx); err != nil {
					return err
				}
			}
			b.StopTimer()
			return s.Close(ctx)
		})
		if err != nil {
			b.Fatal(err)
		}
	})
}
