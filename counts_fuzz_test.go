//go:build !race

package symwin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

// FuzzCountMatrix: in the calls that tell counts first, a rank tells counts that
// are not what it sends, too large to add up, or of other calls. The other one
// gets an error or wrong elements where elements were to come; never a panic, a
// wait without end, or a byte beside its destination. (Not under the race
// detector, which is right about what happens here.)
func FuzzCountMatrix(f *testing.F) {
	for _, v := range []uint64{0, 1, 100, 1000, 1001, 1 << 20, 1<<46 - 1, 1 << 46, 1 << 61, 1 << 63, math.MaxUint64} {
		for _, sends := range []uint16{0, 100, 8000} {
			f.Add(v, v, uint64(1000), sends, true)
			f.Add(v, uint64(100), v, sends, false)
			f.Add(uint64(sends/8), uint64(100), v, sends, false)
		}
	}
	f.Fuzz(func(t *testing.T, count, own, has uint64, sends uint16, gather bool) {
		ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
		defer cancel()
		o := Options{Size: 2, Window: 4 << 20, Stall: 3 * time.Millisecond}
		var panicked atomic.Value
		_ = symmem.RunWith(ctx, o, func(ctx context.Context, w *symmem.World) (err error) {
			team := w.Team()
			if w.Rank() == 1 {
				return hostileCounts(ctx, team, count, own, has, make([]byte, sends), gather)
			}
			defer func() {
				if v := recover(); v != nil {
					panicked.Store(fmt.Sprint(v))
				}
			}()
			const margin = 512
			memory := make([]uint64, 1000+2*margin)
			for i := range memory {
				memory[i] = 0xa5a5
			}
			dst, got := memory[margin:margin+1000], make([]int, 2)
			for range 2 {
				if gather {
					err = AllGatherv(ctx, team, dst, got, make([]uint64, 100))
				} else {
					err = AllToAllv(ctx, team, dst, got, make([]uint64, 200), []int{100, 100})
				}
				if err != nil {
					break
				}
			}
			var inside *ce.PanicError
			if errors.As(err, &inside) {
				panicked.Store(fmt.Sprintf("%v\n%s", inside.Value, inside.Stack))
			}
			for i := range margin {
				if memory[i] != 0xa5a5 || memory[len(memory)-1-i] != 0xa5a5 {
					panicked.Store("an element beside the destination was changed")
				}
			}
			return err
		})
		require.NoError(t, ctx.Err(), "it did not end")
		require.Nil(t, panicked.Load())
	})
}

// hostileCounts is a rank that tells rank 0 one thing and sends another.
func hostileCounts(ctx context.Context, team *Team, count, own, has uint64, data []byte, gather bool) error {
	op := symmem.OpAllToAllv
	if gather {
		op = symmem.OpAllGatherv
	}
	var call symmem.Record
	err := callOf[uint64](&call, op, 0)
	if err != nil {
		return err
	}
	e, err := enginesOf(ctx, team, &call)
	if err != nil {
		return err
	}
	lines := call
	lines.Engine = symmem.EngineLL64
	words, come := make([]byte, 16), make([]byte, 32)
	binary.LittleEndian.PutUint64(words, count)
	binary.LittleEndian.PutUint64(words[8:], own)
	if gather {
		binary.LittleEndian.PutUint64(words[8:], has)
		err = e.blocks.AllGather(ctx, &lines, come, words)
	} else {
		err = e.blocks.AllToAll(ctx, &lines, come[:16], words, 8)
	}
	if err != nil {
		return err
	}
	call.Engine = symmem.EngineCE
	parts := []ce.Part{{Src: data, Dst: make([]byte, 800)}, {Src: data, Dst: make([]byte, len(data))}}
	return e.stream.Exchange(ctx, call, parts, !gather, nil)
}
