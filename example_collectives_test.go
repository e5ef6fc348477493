package symwin_test

import (
	"context"
	"fmt"
	"log"

	"github.com/symwin/symwin"
)

// on runs f as three ranks and prints what rank `shown` returns.
func on(shown int, f func(ctx context.Context, t *symwin.Team) (any, error)) {
	err := symwin.Run(context.Background(), 3, func(ctx context.Context, w *symwin.World) error {
		result, err := f(ctx, w.Team())
		if err == nil && w.Rank() == shown {
			fmt.Println(result)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleAllGather() {
	on(1, func(ctx context.Context, t *symwin.Team) (any, error) {
		src, dst := []int{t.Rank(), 10 * t.Rank()}, make([]int, 2*t.Size())
		err := symwin.AllGather(ctx, t, dst, src)
		return dst, err
	})
	// Output: [0 0 1 10 2 20]
}

// Each rank has something of another length, and none knows the others'.
func ExampleAllGatherv() {
	on(2, func(ctx context.Context, t *symwin.Team) (any, error) {
		src := []byte([]string{"one", "", "three"}[t.Rank()])
		dst, counts := make([]byte, 100), make([]int, t.Size())
		err := symwin.AllGatherv(ctx, t, dst, counts, src)
		return fmt.Sprintf("%s %v", dst[:counts[0]+counts[1]+counts[2]], counts), err
	})
	// Output: onethree [3 0 5]
}

// Only the root needs a dst.
func ExampleGather() {
	const root = 2
	on(root, func(ctx context.Context, t *symwin.Team) (any, error) {
		var dst []int
		if t.Rank() == root {
			dst = make([]int, t.Size())
		}
		err := symwin.Gather(ctx, t, dst, []int{t.Rank() * t.Rank()}, root)
		return dst, err
	})
	// Output: [0 1 4]
}

// A root that has its own part in place takes it out of src.
func ExampleScatter() {
	const root = 0
	on(1, func(ctx context.Context, t *symwin.Team) (any, error) {
		if t.Rank() == root {
			src := []int{1, 2, 3, 4, 5, 6}
			return nil, symwin.Scatter(ctx, t, src[:2], src, root)
		}
		dst := make([]int, 2)
		err := symwin.Scatter(ctx, t, dst, nil, root)
		return dst, err
	})
	// Output: [3 4]
}

func ExampleBroadcast() {
	const root = 1
	on(0, func(ctx context.Context, t *symwin.Team) (any, error) {
		buf := make([]float64, 2)
		if t.Rank() == root {
			buf[0], buf[1] = 2.5, 7
		}
		err := symwin.Broadcast(ctx, t, buf, root)
		return buf, err
	})
	// Output: [2.5 7]
}

func ExampleReduce() {
	const root = 0
	on(root, func(ctx context.Context, t *symwin.Team) (any, error) {
		dst := make([]int, 2)
		err := symwin.Reduce(ctx, t, dst, []int{t.Rank(), -t.Rank()}, symwin.Max, root)
		return dst, err
	})
	// Output: [2 0]
}

// In place: every rank's part becomes the sum of all, the same bits on each.
func ExampleAllReduce() {
	on(2, func(ctx context.Context, t *symwin.Team) (any, error) {
		gradient := []float32{0.5, float32(t.Rank())}
		err := symwin.AllReduce(ctx, t, gradient, gradient, symwin.Sum)
		return gradient, err
	})
	// Output: [1.5 3]
}

func ExampleReduceScatter() {
	on(2, func(ctx context.Context, t *symwin.Team) (any, error) {
		src, dst := []uint8{1, 2, 4, 8, 16, 32}, make([]uint8, 2)
		src[5] += uint8(t.Rank())
		err := symwin.ReduceScatter(ctx, t, dst, src, symwin.Or)
		return dst, err
	})
	// Output: [16 35]
}

// What a rank has stored into a window before, others read after it.
func ExampleBarrier() {
	err := symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
		win, err := symwin.Alloc[int](ctx, w, 1)
		if err != nil {
			return err
		}
		win.Local()[0] = 100 + w.Rank()
		if err := symwin.Barrier(ctx, w.Team()); err != nil {
			return err
		}
		if w.Rank() == 0 {
			fmt.Println(win.Peer(1)[0])
		}
		return win.Free(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 101
}

func ExampleExplain() {
	on(0, func(ctx context.Context, t *symwin.Team) (any, error) {
		c, err := symwin.Explain(t, "allreduce", 16<<20)
		return fmt.Sprintf("%s in %d steps", c.Engine, c.Steps), err
	})
	// Output: ce in 2 steps
}
