package ce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// TestStepsAndWorkers: large batches, cut into steps and among workers in many
// ways, another one on each rank, with sizes around the grain.
func TestStepsAndWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	sizes := []int{0, 1, 100, 128<<10 - 1, 128 << 10, 300<<10 + 17, 1 << 20, 1<<20 + 5}
	for _, o := range []ce.Options{
		{Workers: 1, StepLarge: 1},
		{Workers: 1, StepBytes: 70 << 10},
		{Workers: 3},
		{Workers: 4, StepLarge: 1, StepBytes: 999 << 10},
	} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			run(t, 2, func(ctx context.Context, w *symmem.World) error {
				total := 0
				for _, s := range sizes {
					total += s
				}
				win, err := window.Alloc[byte](ctx, w, total)
				if err != nil {
					return err
				}
				s, err := ce.Open(ctx, w.Team(), o)
				if err != nil {
					return err
				}
				var b ce.Batch
				for round := range 3 {
					b.Reset()
					if w.Rank() == 0 || round == 1 { // rank 1's batch is empty: it keeps step all the same
						at := 0
						for k, size := range sizes {
							ce.Put(&b, 1-w.Rank(), win.At(at, size), message(size, round, w.Rank(), k))
							at += size
						}
					}
					if err := s.Run(ctx, &b); err != nil {
						return err
					}
					if w.Rank() == 1 || round == 1 {
						at := 0
						for k, size := range sizes {
							if !bytes.Equal(win.Local()[at:at+size], message(size, round, 1-w.Rank(), k)) {
								return fmt.Errorf("round %d: put %d of %d bytes is wrong", round, k, size)
							}
							at += size
						}
					}
				}
				return errors.Join(s.Close(ctx), win.Free(ctx))
			})
		})
	}
}

// TestCrewCopiesAll: any list, any number of workers.
func TestCrewCopiesAll(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	src := noise
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 600<<10)), 0, 12).Draw(t, "sizes")
		workers := rapid.IntRange(1, 5).Draw(t, "workers")
		var dst, from [][]byte
		for i, size := range sizes {
			dst, from = append(dst, bytes.Repeat([]byte{7}, size+1)), append(from, src[i*1000:][:size])
		}
		ce.CopyByCrew(workers, dst, from)
		for i := range dst {
			size := len(from[i])
			if !bytes.Equal(dst[i][:size], from[i]) || dst[i][size] != 7 {
				t.Fatalf("piece %d of %d bytes", i, size)
			}
		}
	})
}

// TestBatchesAreCutWithoutRest: the steps are the batch, no more and no less, and
// none is larger than it may be.
func TestBatchesAreCutWithoutRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "members")
		me := rapid.IntRange(0, n-1).Draw(t, "me")
		type op struct{ To, Size int }
		ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
			return op{rapid.IntRange(0, n-1).Draw(t, "to"), rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 5<<20)).Draw(t, "size")}
		}), 0, 30).Draw(t, "ops")
		most := rapid.IntRange(1, 10).Draw(t, "large")
		limit := rapid.Int64Range(10<<10, 20<<20).Draw(t, "bytes")
		to, size := make([]int, len(ops)), make([]int, len(ops))
		for i, o := range ops {
			to[i], size[i] = o.To, o.Size
		}
		covered := make([]int, len(ops))
		last := -1
		for _, step := range ce.CutBatch(me, n, to, size, most, limit) {
			large, bytes := 0, int64(0)
			for _, p := range step {
				if p.Lo != covered[p.Op] {
					t.Fatalf("operation %d: bytes from %d on, %d were copied", p.Op, p.Lo, covered[p.Op])
				}
				covered[p.Op] = p.Hi
				bytes += int64(p.Hi - p.Lo)
				if size[p.Op] >= 1<<20 && p.Hi > p.Lo {
					large++
				}
				if turn := (to[p.Op] - me + n) % n; turn < last {
					t.Fatalf("destination %d after another one", to[p.Op])
				} else {
					last = turn
				}
			}
			if large > most || bytes > limit {
				t.Fatalf("a step of %d large copies and %d bytes", large, bytes)
			}
		}
		require.Equal(t, size, covered)
	})
}

// TestPiecesOfTheRing: both ends agree on every place by their own counts; pieces
// lie inside the share and not over what has not been taken.
func TestPiecesOfTheRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		staging := rapid.Int64Range(0, 1<<20).Draw(t, "staging")
		n := rapid.IntRange(1, 20).Draw(t, "members")
		unit := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 16, 24, 64}).Draw(t, "unit")
		share := ce.NewShare(staging, n)
		type piece struct {
			off, size int
			then      uint64
		}
		var flying []piece
		sent, taken := uint64(0), uint64(0)
		for range rapid.IntRange(1, 40).Draw(t, "messages") {
			message := unit * rapid.IntRange(1, 40000).Draw(t, "elements")
			size := share.Piece(message, unit)
			if size%unit != 0 || size < 1 {
				t.Fatalf("pieces of %d for elements of %d", size, unit)
			}
			for left := message; left > 0; left -= min(left, size) {
				p := min(left, size)
				off, then := share.Place(sent, p)
				for then-taken > uint64(share.Bytes()) { // no room: the receiver takes one
					first := flying[0]
					gotOff, gotThen := share.Place(taken, first.size)
					if gotOff != first.off || gotThen != first.then {
						t.Fatalf("sent to %d, looked for at %d", first.off, gotOff)
					}
					taken, flying = gotThen, flying[1:]
				}
				if off < 0 || off+p > share.Bytes() || off%64 != 0 {
					t.Fatalf("%d bytes at %d of %d", p, off, share.Bytes())
				}
				for _, f := range flying {
					if off < f.off+f.size && f.off < off+p {
						t.Fatalf("%d bytes at %d lie over %d at %d", p, off, f.size, f.off)
					}
				}
				flying, sent = append(flying, piece{off, p, then}), then
			}
		}
	})
}
