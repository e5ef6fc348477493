//go:build !race

package ce_test

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
	"github.com/symwin/symwin/window"
)

// What a peer may write into the words of a stream: anything. Who reads it gets an
// error or wrong bytes where bytes were to come; never a panic, a wait without
// end, or a byte elsewhere. (Not under the race detector, which is right about
// what happens here.)

var hostileOps = []symmem.Record{
	{Op: symmem.OpAllToAll, Engine: symmem.EngineCE, EltSize: 1},
	{Op: symmem.OpReduceScatter, Engine: symmem.EngineCE, EltSize: 8},
	{Op: symmem.OpBatch, Engine: symmem.EngineCE},
}

// hostileChoices are operations to begin with: exchanges into private memory and
// into the window, without and with a vote; a fold; a batch.
var hostileChoices = []uint8{0, 9, 18, 24, 1, 2}

// victim is a rank that makes operations of one kind while another writes garbage.
// Around everything that it gives away for writing stand bytes that nobody may
// change.
type victim struct {
	w      *symmem.World
	s      *ce.Stream
	win    *window.Window[byte]
	kind   int // of hostileOps
	direct bool
	votes  bool
	size   int
	memory []byte // private: margin, destination, margin
	batch  ce.Batch
}

const (
	margin   = 4 << 10
	winBytes = 160 << 10
)

func newVictim(ctx context.Context, w *symmem.World, choice uint8, size uint16) (*victim, error) {
	v := &victim{w: w, kind: int(choice) % len(hostileOps), direct: choice&8 != 0, votes: choice&16 != 0, size: int(size) &^ 7}
	var err error
	if v.win, err = window.Alloc[byte](ctx, w, winBytes); err != nil {
		return nil, err
	}
	if v.s, err = ce.OpenFor(ctx, w.Team(), hostileOps[v.kind], ce.Options{Staging: 64 << 10, Workers: 1}); err != nil {
		return nil, err
	}
	v.memory = make([]byte, v.size+2*margin)
	for _, b := range [][]byte{v.memory, v.win.Local()} {
		for i := range b {
			b[i] = 0xa5
		}
	}
	return v, nil
}

// operate makes one operation.
func (v *victim) operate(ctx context.Context) error {
	src := make([]byte, v.size)
	dst := v.memory[margin:][:v.size]
	if v.direct {
		dst = v.win.Local()[margin:][:v.size]
	}
	me := v.w.Rank()
	parts := make([]ce.Part, 2)
	switch v.kind {
	case 1:
		for r := range parts {
			parts[r] = ce.Part{Src: src}
		}
		return v.s.Fold(ctx, hostileOps[1], parts, v.size, false, &hash{out: make([]byte, v.size)})
	case 2:
		v.batch.Reset()
		ce.Put(&v.batch, 1-me, v.win.At(margin, v.size), src)
		return v.s.Run(ctx, &v.batch)
	}
	parts[1-me] = ce.Part{Src: src, Dst: dst}
	return v.s.Exchange(ctx, hostileOps[0], parts, v.votes, nil)
}

// verdict is about a rank whose operation has come back with err.
func (v *victim) verdict(err error) error {
	var panicked *ce.PanicError
	if errors.As(err, &panicked) {
		return fmt.Errorf("a panic: %v\n%s", panicked.Value, panicked.Stack)
	}
	for what, b := range map[string][]byte{"memory": v.memory, "window": v.win.Local()[:2*margin+v.size]} {
		for i := range margin {
			if b[i] != 0xa5 || b[len(b)-1-i] != 0xa5 {
				return fmt.Errorf("%s: a byte beside the destination was changed", what)
			}
		}
	}
	return nil
}

// besieged runs two ranks, each in its part, and judges the first.
func besieged(t *testing.T, choice uint8, size uint16, times int, attack func(ctx context.Context, v *victim) error) {
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	o := symmem.Options{Size: 2, Window: symmem.MinWindow, Stall: 3 * time.Millisecond}
	var verdict atomic.Value
	_ = symmem.RunWith(ctx, o, func(ctx context.Context, w *symmem.World) error {
		v, err := newVictim(ctx, w, choice, size)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			return attack(ctx, v)
		}
		for range times {
			if err = v.operate(ctx); err != nil {
				break
			}
		}
		if bad := v.verdict(err); bad != nil {
			verdict.Store(bad)
		}
		return err
	})
	require.NoError(t, ctx.Err(), "it did not end")
	require.Nil(t, verdict.Load())
}

// FuzzReady: a peer's ready line, all of it, for the call that is made or for
// another; and a count of pieces as if they had come.
func FuzzReady(f *testing.F) {
	absurd := []uint64{0, 1, 64, 4096, 64 << 10, symmem.MinWindow - 1, symmem.MinWindow, 1 << 40, 1 << 63, math.MaxUint64, math.MaxUint64 - 4095}
	for i, v := range absurd {
		for _, choice := range hostileChoices {
			size := uint16(100 << (i % 10))
			n := uint64(size &^ 7)
			f.Add(v, n, absurd[(i+3)%len(absurd)], n, uint64(i+int(choice))%6|v<<8, v, v, uint64(0), uint64(1), choice, size)
			f.Add(uint64(0), v, uint64(math.MaxUint64), n, uint64(i%6), uint64(0), uint64(0), uint64(i&1)<<uint(i*5), v, choice, size)
		}
	}
	f.Fuzz(func(t *testing.T, want, length, source, sends, how, need, have, tag, complete uint64, choice uint8, size uint16) {
		besieged(t, choice, size, 2, func(ctx context.Context, v *victim) error {
			call := hostileOps[v.kind]
			v.s.ForgeReady(0, [8]uint64{want, length, source, sends, how, need, have, v.s.Tag(1, call) ^ tag})
			v.s.ForgeComplete(0, complete)
			return v.w.Team().Barrier(ctx) // comes true only by a mistake of this test
		})
	})
}

// FuzzCounts: pieces, credits and steps that a peer counts, from operation to
// operation and in the middle of them, while it takes part as it should.
func FuzzCounts(f *testing.F) {
	entry := func(kind byte, v uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{kind}, v) }
	for _, v := range []uint64{0, 1, 2, 64, 1 << 20, 1 << 32, 1 << 62, 1 << 63, math.MaxUint64} {
		for _, choice := range hostileChoices {
			f.Add(append(entry(0, v), entry(1, v)...), choice, uint16(40_000))
			f.Add(append(entry(2, v), entry(3, v)...), choice, uint16(60_000))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, choice uint8, size uint16) {
		besieged(t, choice, size, 4, func(ctx context.Context, v *victim) error {
			stop := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ; len(data) >= 9; data = data[9:] {
					select {
					case <-stop:
						return
					default:
					}
					value := binary.LittleEndian.Uint64(data[1:])
					switch data[0] % 4 {
					case 0:
						v.s.ForgeComplete(0, value)
					case 1:
						v.s.ForgeCredit(0, value)
					case 2:
						v.s.ForgeComplete(0, value%8)
					case 3:
						v.s.ForgeCredit(0, value%8*64)
					}
					time.Sleep(time.Duration(data[0]) * time.Microsecond)
				}
			}()
			var err error
			for range 4 {
				if err = v.operate(ctx); err != nil {
					break
				}
			}
			close(stop)
			<-done
			return err
		})
	})
}
