package symwin_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/symwin/symwin"
)

// A whole program but for its func main: join, exchange, close.
func Example() {
	ctx := context.Background()

	w, err := symwin.Join(ctx) // under shmrun, mpirun, srun, torchrun, or by hand; alone it is a world of one
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()

	n := 1000 // elements for each rank
	src, dst := make([]float32, n*w.Size()), make([]float32, n*w.Size())
	if err := symwin.AllToAll(ctx, w.Team(), dst, src); err != nil { // any memory; the right engine by size
		log.Fatal(err) // names the rank that died, came late, or called something else
	}

	fmt.Println(len(dst), "elements have come")
	// Output: 1000 elements have come
}

// With no launcher's variables set, Join makes a world of one: a program runs as
// it is, and as many ranks as "shmrun -n" says.
func ExampleJoin() {
	ctx := context.Background()
	w, err := symwin.Join(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	fmt.Printf("rank %d of %d\n", w.Rank(), w.Size())
	// Output: rank 0 of 1
}

// Run is for tests and examples: ranks are goroutines of this process.
func ExampleRun() {
	err := symwin.Run(context.Background(), 4, func(ctx context.Context, w *symwin.World) error {
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		if w.Rank() == 2 {
			return errors.New("something went wrong here")
		}
		// The others learn who it was, in whatever they wait.
		return w.Team().Barrier(ctx)
	})
	fmt.Println(err)
	// Output: rank 2: something went wrong here
}

func ExampleAllToAll() {
	err := symwin.Run(context.Background(), 3, func(ctx context.Context, w *symwin.World) error {
		// Two numbers for each rank.
		src, dst := make([]int, 2*w.Size()), make([]int, 2*w.Size())
		for to := range w.Size() {
			src[2*to], src[2*to+1] = w.Rank(), to
		}
		if err := symwin.AllToAll(ctx, w.Team(), dst, src); err != nil {
			return err
		}
		if w.Rank() == 1 {
			fmt.Println(dst)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [0 1 1 1 2 1]
}

// The counts need not be known before. A dst that is too short anywhere is the
// same error on all ranks, and the next call may bring a longer one.
func ExampleAllToAllv() {
	err := symwin.Run(context.Background(), 3, func(ctx context.Context, w *symwin.World) error {
		// Rank r sends r bytes to each rank: none, one, two.
		var src []byte
		srcCounts, dstCounts := make([]int, w.Size()), make([]int, w.Size())
		for to := range srcCounts {
			srcCounts[to] = w.Rank()
			for range w.Rank() {
				src = append(src, byte('a'+w.Rank()))
			}
		}
		dst := make([]byte, 2)
		err := symwin.AllToAllv(ctx, w.Team(), dst, dstCounts, src, srcCounts)
		if errors.Is(err, symwin.ErrTooShort) {
			need := 0
			for _, c := range dstCounts {
				need += c
			}
			dst = make([]byte, need)
			err = symwin.AllToAllv(ctx, w.Team(), dst, dstCounts, src, srcCounts)
		}
		if w.Rank() == 0 {
			fmt.Printf("%s %v\n", dst, dstCounts)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: bcc [0 1 2]
}

// A destination that lies in a window is written once, by its senders.
func ExampleAlloc() {
	err := symwin.Run(context.Background(), 2, func(ctx context.Context, w *symwin.World) error {
		const n = 1000
		win, err := symwin.Alloc[float64](ctx, w, n*w.Size())
		if err != nil {
			return err
		}
		src := make([]float64, n*w.Size())
		for i := range src {
			src[i] = float64(w.Rank()) + 0.5
		}
		if err := symwin.AllToAll(ctx, w.Team(), win.Local(), src); err != nil {
			return err
		}
		sum := 0.0
		for _, v := range win.Local() {
			sum += v
		}
		if w.Rank() == 0 {
			fmt.Println(sum)
		}
		return win.Free(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 2000
}
