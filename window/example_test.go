package window_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Every rank puts one number into everybody's window, at the place that is its
// own there, and signals; whoever has the signals of all has the numbers of all.
func Example() {
	err := symmem.Run(context.Background(), 4, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[int](ctx, w, w.Size())
		if err != nil {
			return err
		}
		for to := range w.Size() {
			if err := win.PutSignal(to, w.Rank(), []int{w.Rank() * w.Rank()}, 0); err != nil {
				return err
			}
		}
		for from := range w.Size() {
			if _, err := win.WaitSignal(ctx, from, 0, 1); err != nil {
				return err
			}
		}
		if w.Rank() == 2 {
			fmt.Println("rank 2 has", win.Local())
		}
		return win.Free(ctx)
	})
	fmt.Println(err)
	// Output:
	// rank 2 has [0 1 4 9]
	// <nil>
}

// All ranks learn that what they ask for is more than a window has, and go on
// with less.
func ExampleAlloc() {
	_ = symmem.Run(context.Background(), 2, func(ctx context.Context, w *symmem.World) error {
		n := 1 << 30
		win, err := window.Alloc[float32](ctx, w, n)
		for errors.Is(err, symmem.ErrNoSpace) {
			n /= 2
			win, err = window.Alloc[float32](ctx, w, n)
		}
		if err != nil {
			return err
		}
		if w.Rank() == 0 {
			fmt.Println(win.Len(), "elements on each rank")
		}
		return win.Free(ctx)
	})
	// Output: 2097152 elements on each rank
}

// A slow consumer gives the sender a second buffer's worth of time: the sender
// fills one half of the window while the receiver reads the other, and each
// waits for the other by signals alone.
func ExampleWindow_WaitSignal() {
	const data, room = 0, 1 // what the signals say
	err := symmem.Run(context.Background(), 2, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[int](ctx, w, 2)
		if err != nil {
			return err
		}
		sum := 0
		for k := range 10 {
			if w.Rank() == 0 {
				if k >= 2 {
					if _, err := win.WaitSignal(ctx, 1, room, uint64(k-1)); err != nil {
						return err
					}
				}
				err = win.PutSignal(1, k%2, []int{k}, data)
			} else {
				if _, err := win.WaitSignal(ctx, 0, data, uint64(k+1)); err != nil {
					return err
				}
				sum += win.Local()[k%2]
				err = win.Signal(0, room)
			}
			if err != nil {
				return err
			}
		}
		if w.Rank() == 1 {
			fmt.Println("sum", sum)
		}
		return win.Free(ctx)
	})
	fmt.Println(err)
	// Output:
	// sum 45
	// <nil>
}

// A Span is a place in everybody's window. An engine that was given ordinary
// slices asks whether they lie in one.
func ExampleFind() {
	_ = symmem.Run(context.Background(), 2, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[uint16](ctx, w, 1000)
		if err != nil {
			return err
		}
		dst := win.Local()[40:60]
		span, found := window.Find(w, dst)
		_, outside := window.Find(w, make([]uint16, 20))
		if w.Rank() == 0 {
			fmt.Println(found, span.Bytes(), "bytes, as At says:", span == win.At(40, 20))
			fmt.Println(outside)
			fmt.Println(win.At(990, 11).Err())
		}
		return win.Free(ctx)
	})
	// Output:
	// true 40 bytes, as At says: true
	// false
	// bad argument: 11 elements at 990 of a window of 1000
}

// An area belongs to a team: here the even ranks and the odd ones each have one,
// of different sizes.
func ExampleOpenArea() {
	err := symmem.Run(context.Background(), 4, func(ctx context.Context, w *symmem.World) error {
		team, err := w.Team().Split(ctx, w.Rank()%2, 0)
		if err != nil {
			return err
		}
		size := int64(64 << (w.Rank() % 2))
		area, err := window.OpenArea(ctx, team, symmem.Record{Op: symmem.OpOpen}, size)
		if err != nil {
			return err
		}
		other := 1 - team.Rank()
		area.Peer(other)[0] = byte(10 * (w.Rank() + 1))
		if err := team.Barrier(ctx); err != nil {
			return err
		}
		if w.Rank() == 3 {
			fmt.Println("rank 3:", len(area.Local()), "bytes, the first is", area.Local()[0])
		}
		return area.Close(ctx)
	})
	fmt.Println(err)
	// Output:
	// rank 3: 128 bytes, the first is 20
	// <nil>
}
