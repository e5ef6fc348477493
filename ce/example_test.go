package ce_test

import (
	"context"
	"fmt"
	"log"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// A batch puts pieces straight into the peers' windows. When Run returns, what
// was put into the own window is there.
func ExampleStream_Run() {
	err := symmem.Run(context.Background(), 3, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[int](ctx, w, 2*w.Size())
		if err != nil {
			return err
		}
		s, err := ce.Open(ctx, w.Team(), ce.Options{})
		if err != nil {
			return err
		}
		var b ce.Batch
		src := []int{w.Rank(), 10 * w.Rank()}
		for to := range w.Size() {
			ce.Put(&b, to, win.At(2*w.Rank(), 2), src)
		}
		if err := s.Run(ctx, &b); err != nil {
			return err
		}
		if w.Rank() == 0 {
			fmt.Println(win.Local())
		}
		if err := s.Close(ctx); err != nil {
			return err
		}
		return win.Free(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [0 0 1 10 2 20]
}
