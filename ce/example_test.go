package ce_test

import (
	"context"
	"encoding/binary"
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

// A batch that is started moves beside the program. What it reads and writes is
// left alone until it is waited for.
func ExampleStream_Start() {
	err := symmem.Run(context.Background(), 2, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[float64](ctx, w, 1000)
		if err != nil {
			return err
		}
		s, err := ce.Open(ctx, w.Team(), ce.Options{Workers: 1})
		if err != nil {
			return err
		}
		var b ce.Batch
		src := make([]float64, 1000)
		for i := range src {
			src[i] = float64(1 + w.Rank())
		}
		ce.Put(&b, 1-w.Rank(), win.At(0, 1000), src)
		moving := s.Start(&b)

		sum := 0
		for i := range 1000 { // the program computes something else
			sum += i
		}
		if err := moving.Wait(ctx); err != nil {
			return err
		}
		if w.Rank() == 0 {
			fmt.Println(sum, win.Local()[999])
		}
		return s.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 499500 2
}

// An exchange moves something to each member and something from each, wherever it
// lies: this one gathers what all have on rank 0.
func ExampleStream_Exchange() {
	err := symmem.Run(context.Background(), 3, func(ctx context.Context, w *symmem.World) error {
		gather := symmem.Record{Op: symmem.OpAllToAllv, Engine: symmem.EngineCE}
		s, err := ce.OpenFor(ctx, w.Team(), gather, ce.Options{})
		if err != nil {
			return err
		}
		parts := make([]ce.Part, w.Size())
		parts[0].Src = []byte{'a' + byte(w.Rank())}
		all := make([]byte, 3)
		if w.Rank() == 0 {
			for r := range parts {
				parts[r].Dst = all[r : r+1]
			}
		}
		if err := s.Exchange(ctx, gather, parts, false, nil); err != nil {
			return err
		}
		if w.Rank() == 0 {
			fmt.Printf("%s\n", all)
		}
		return s.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: abc
}

// adder folds into sum what all members send.
type adder struct{ sum []byte }

func (a adder) Fold(at int, from [][]byte) {
	for i := 0; i < len(from[0]); i += 8 {
		var v uint64
		for _, b := range from {
			v += binary.LittleEndian.Uint64(b[i:])
		}
		binary.LittleEndian.PutUint64(a.sum[at+i:], v)
	}
}

// A fold reads what all members send where it lies, in rank order.
func ExampleStream_Fold() {
	err := symmem.Run(context.Background(), 4, func(ctx context.Context, w *symmem.World) error {
		call := symmem.Record{Op: symmem.OpAllToAll, Engine: symmem.EngineCE, EltSize: 8, Count: 2}
		s, err := ce.OpenFor(ctx, w.Team(), call, ce.Options{})
		if err != nil {
			return err
		}
		src := binary.LittleEndian.AppendUint64(nil, uint64(w.Rank()))
		src = binary.LittleEndian.AppendUint64(src, 100)
		parts := make([]ce.Part, w.Size())
		for r := range parts {
			parts[r].Src = src
		}
		sum := adder{make([]byte, len(src))}
		if err := s.Fold(ctx, call, parts, len(src), false, sum); err != nil {
			return err
		}
		if w.Rank() == 2 {
			fmt.Println(binary.LittleEndian.Uint64(sum.sum), binary.LittleEndian.Uint64(sum.sum[8:]))
		}
		return s.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 6 400
}

// Views show the members each other's buffers without a copy.
func ExampleViews() {
	err := symmem.Run(context.Background(), 2, func(ctx context.Context, w *symmem.World) error {
		v, err := ce.OpenViews[int](ctx, w.Team(), 1)
		if err != nil {
			return err
		}
		for round := range 3 {
			b, err := v.Buffer(ctx)
			if err != nil {
				return err
			}
			for to := range b {
				b[to] = 100*round + 10*w.Rank() + to
			}
			seen, err := v.Exchange(ctx)
			if err != nil {
				return err
			}
			if w.Rank() == 0 {
				fmt.Println(seen.From(0), seen.From(1))
			}
			seen.Release()
		}
		return v.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [0] [10]
	// [100] [110]
	// [200] [210]
}
