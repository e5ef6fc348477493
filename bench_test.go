package symwin_test

import (
	"context"
	"testing"

	"github.com/symwin/symwin"
)

// BenchmarkAllToAllAlone is what the front door costs beside the exchange of
// lines: a world of one has nobody to exchange them with.
func BenchmarkAllToAllAlone(b *testing.B) {
	err := symwin.Run(context.Background(), 1, func(ctx context.Context, w *symwin.World) error {
		dst, src := make([]byte, 8), make([]byte, 8)
		for b.Loop() {
			if err := symwin.AllToAll(ctx, w.Team(), dst, src); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
