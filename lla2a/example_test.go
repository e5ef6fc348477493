package lla2a_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

// Ranks tell each other how much they are about to send: one small value to each
// peer, in every epoch.
func ExampleSession() {
	err := symmem.Run(context.Background(), 3, func(ctx context.Context, w *symmem.World) error {
		counts, err := lla2a.Open[int32](ctx, w.Team(), 1)
		if err != nil {
			return err
		}
		for round := range 2 {
			for to := range w.Size() {
				if err := counts.Send(ctx, to, 0, int32(100*round+10*w.Rank()+to)); err != nil {
					return err
				}
			}
			come := make([]int32, w.Size())
			if err := counts.RecvAll(ctx, 0, come); err != nil {
				return err
			}
			if w.Rank() == 1 {
				fmt.Println(come)
			}
			if err := counts.EndEpoch(ctx); err != nil {
				return err
			}
		}
		return counts.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [1 11 21]
	// [101 111 121]
}

// A large element is sent from where it lies and received to where it is wanted:
// each way it is copied once.
func ExampleSession_SendFrom() {
	type block struct {
		row   int
		cells [500]float64
	}
	err := symmem.Run(context.Background(), 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[block](ctx, w.Team(), 1)
		if err != nil {
			return err
		}
		var mine, theirs block
		mine.row, mine.cells[499] = 10+w.Rank(), float64(w.Rank())/2
		if err := s.SendFrom(ctx, 1-w.Rank(), 0, &mine); err != nil {
			return err
		}
		if err := s.RecvInto(ctx, 1-w.Rank(), 0, &theirs); err != nil {
			return err
		}
		if w.Rank() == 0 {
			fmt.Println(theirs.row, theirs.cells[499])
		}
		if err := s.EndEpoch(ctx); err != nil {
			return err
		}
		return s.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 11 0.5
}

// Slots belong to sender and receiver, so a few ranks may send to one without
// asking anybody; the others end the epoch all the same.
func ExampleSession_Send() {
	err := symmem.Run(context.Background(), 4, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[float64](ctx, w.Team(), 2)
		if err != nil {
			return err
		}
		if w.Rank()%2 == 1 {
			if err := s.Send(ctx, 0, 1, float64(w.Rank())/2); err != nil {
				return err
			}
		}
		if w.Rank() == 0 {
			for _, from := range []int{3, 1} {
				v, err := s.Recv(ctx, from, 1)
				if err != nil {
					return err
				}
				fmt.Println(from, v)
			}
		}
		if err := s.EndEpoch(ctx); err != nil {
			return err
		}
		return s.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 3 1.5
	// 1 0.5
}

// Small vectors are reduced by all members at once, each in rank order, so that
// all have the same bits.
func ExampleBlocks_AllReduce() {
	sum := func(dst []byte, parts ...[]byte) {
		total := uint64(0)
		for _, p := range parts {
			total += binary.LittleEndian.Uint64(p)
		}
		binary.LittleEndian.PutUint64(dst, total)
	}
	err := symmem.Run(context.Background(), 3, func(ctx context.Context, w *symmem.World) error {
		call := symmem.Record{Op: symmem.OpAllReduce, Engine: symmem.EngineLL64, EltSize: 8, Count: 1}
		blocks, err := lla2a.OpenBlocks(ctx, w.Team(), call, 64)
		if err != nil {
			return err
		}
		v := make([]byte, 8)
		binary.LittleEndian.PutUint64(v, uint64(100+w.Rank()))
		if err := blocks.AllReduce(ctx, &call, v, v, sum); err != nil {
			return err
		}
		if w.Rank() == 2 {
			fmt.Println(binary.LittleEndian.Uint64(v))
		}
		return blocks.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 303
}
