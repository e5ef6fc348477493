package symwin_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
	"github.com/symwin/symwin/internal/ranktest"
)

// scenarios are what processes of this test binary can be ranks of.
var scenarios = map[string]ranktest.Scenario{
	"alltoall":    inWorld(allToAllRounds),
	"alltoallv":   inWorld(allToAllvRounds),
	"too-short":   inWorld(tooShort),
	"mismatch":    inWorld(mismatch),
	"everything":  inWorld(everything),
	"other-table": otherTable,
	"kill-me": inWorld(func(ctx context.Context, w *symwin.World) error {
		fmt.Println("joined")
		n := 64 << 10
		dst, src := make([]byte, n*w.Size()), make([]byte, n*w.Size())
		for {
			if err := symwin.AllToAll(ctx, w.Team(), dst, src); err != nil {
				if !errors.Is(err, symwin.ErrRankFailed) {
					return err
				}
				return nil
			}
		}
	}),
}

func TestMain(m *testing.M) { ranktest.Main(m, scenarios) }

func inWorld(f func(context.Context, *symwin.World) error) ranktest.Scenario {
	return func(ctx context.Context) error {
		w, err := symwin.Join(ctx)
		if err != nil {
			return err
		}
		defer w.Close()
		return f(ctx, w)
	}
}

// noise is where all messages are cut from.
var noise = func() []byte {
	b := make([]byte, 2<<20)
	_, _ = rand.NewChaCha8([32]byte{1, 2, 3}).Read(b)
	return b
}()

// message is what rank from sends to rank to in a round: cut from the noise at a
// place that depends on all of it, so data of another round, rank or place is
// wrong. It costs nothing to make, also under the race detector.
func message(size, round, from, to int) []byte {
	x := (uint64(round)<<20 ^ uint64(from)<<10 ^ uint64(to)) * 0x9e3779b97f4a7c15
	return noise[x>>44:][:size]
}

// sizes around every edge: of a line, of the engines' border, of a staged piece.
var sizes = []int{0, 1, 7, 8, 9, 64, 1000, 1023, 1024, 1025, 4096, 8192, 8193, 32 << 10, 32<<10 + 1, 100_001, 300_000}

// allToAllRounds exchanges blocks of all sizes, in private memory, in windows
// and with both at once, and checks every byte.
func allToAllRounds(ctx context.Context, w *symwin.World) error {
	n, me := w.Size(), w.Rank()
	largest := sizes[len(sizes)-1]
	win, err := symwin.Alloc[byte](ctx, w, n*largest)
	if err != nil {
		return err
	}
	round := 0
	for _, size := range sizes {
		if n*n*size > 4<<20 {
			continue // what is long takes long with many ranks, and shows nothing new
		}
		for mode := range 3 {
			for range 2 {
				round++
				src := make([]byte, n*size)
				for to := range n {
					copy(src[to*size:], message(size, round, me, to))
				}
				dst := make([]byte, n*size)
				if mode == 1 || (mode == 2 && me%2 == 0) {
					dst = win.Local()[:n*size]
				}
				if err := symwin.AllToAll(ctx, w.Team(), dst, src); err != nil {
					return fmt.Errorf("size %d: %w", size, err)
				}
				for from := range n {
					if got := dst[from*size : (from+1)*size]; !bytes.Equal(got, message(size, round, from, me)) {
						return fmt.Errorf("round %d, size %d, mode %d: rank %d got wrong bytes from %d", round, size, mode, me, from)
					}
				}
				// A window is written by peers as soon as they come to the next
				// call; who reads it in place says when he is done.
				if err := w.Team().Barrier(ctx); err != nil {
					return err
				}
			}
		}
	}
	return win.Free(ctx)
}

// words reads bytes as numbers.
func words(p []byte) []uint16 {
	out := make([]uint16, len(p)/2)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(p[2*i:])
	}
	return out
}

// allToAllvRounds exchanges random counts, the same random numbers on all ranks.
func allToAllvRounds(ctx context.Context, w *symwin.World) error {
	n, me := w.Size(), w.Rank()
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		counts := make([][]int, n) // [from][to]
		for from := range counts {
			counts[from] = make([]int, n)
			for to := range counts[from] {
				switch rng.IntN(4) {
				case 0: // nothing
				case 1:
					counts[from][to] = rng.IntN(10)
				case 2:
					counts[from][to] = rng.IntN(5000)
				case 3:
					counts[from][to] = rng.IntN(60000 / n)
				}
			}
		}
		var src []uint16
		for to, c := range counts[me] {
			src = append(src, words(message(2*c, round, me, to))...)
		}
		need := 0
		for from := range n {
			need += counts[from][me]
		}
		dst, got := make([]uint16, need+round%3), make([]int, n)
		if err := symwin.AllToAllv(ctx, w.Team(), dst, got, src, counts[me]); err != nil {
			return err
		}
		at := 0
		for from := range n {
			c := counts[from][me]
			if got[from] != c {
				return fmt.Errorf("round %d: rank %d was told %d from %d, not %d", round, me, got[from], from, c)
			}
			if !slices.Equal(dst[at:at+c], words(message(2*c, round, from, me))) {
				return fmt.Errorf("round %d: rank %d got wrong data from %d", round, me, from)
			}
			at += c
		}
	}
	return nil
}

// tooShort: the last rank's dst lacks one element; all ranks are told the same,
// nothing is copied, and the next call is right.
func tooShort(ctx context.Context, w *symwin.World) error {
	n, me := w.Size(), w.Rank()
	for _, c := range []int{1, 3000} {
		src, counts, got := make([]int32, n*c), make([]int, n), make([]int, n)
		for i := range src {
			src[i] = int32(me + 1)
		}
		for r := range counts {
			counts[r] = c
		}
		dst := make([]int32, n*c)
		short := dst
		if me == n-1 {
			short = dst[1:]
		}
		for range 3 {
			err := symwin.AllToAllv(ctx, w.Team(), short, got, src, counts)
			var e *symwin.TooShortError
			if !errors.As(err, &e) || !errors.Is(err, symwin.ErrTooShort) || e.Rank != n-1 || e.Need != n*c || e.Have != n*c-1 {
				return fmt.Errorf("rank %d got %v", me, err)
			}
			for i, v := range dst {
				if v != 0 {
					return fmt.Errorf("dst[%d] was written", i)
				}
			}
		}
		if err := symwin.AllToAllv(ctx, w.Team(), dst, got, src, counts); err != nil {
			return err
		}
		for i, v := range dst {
			if int(v) != i/c+1 {
				return fmt.Errorf("dst[%d] is %d", i, v)
			}
		}
	}
	return nil
}

// mismatch: rank 1 calls with another count; nobody hangs, and rank 1 and
// whoever waits for it are told both calls.
func mismatch(ctx context.Context, w *symwin.World) error {
	if err := w.Team().Barrier(ctx); err != nil {
		return err
	}
	count := 1000
	if w.Rank() == 1 {
		count = 2000
	}
	n := w.Size()
	err := symwin.AllToAll(ctx, w.Team(), make([]int64, n*count), make([]int64, n*count))
	if !errors.Is(err, symwin.ErrMismatch) {
		return fmt.Errorf("rank %d got %v", w.Rank(), err)
	}
	return nil
}

func TestAllToAll(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 16} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			require.NoError(t, symwin.Run(context.Background(), n, allToAllRounds))
		})
		t.Run(fmt.Sprint(n, "processes"), func(t *testing.T) {
			ranktest.Start(t, n, "alltoall").Wait()
		})
	}
}

func TestAllToAllv(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			require.NoError(t, symwin.Run(context.Background(), n, allToAllvRounds))
		})
		t.Run(fmt.Sprint(n, "processes"), func(t *testing.T) {
			ranktest.Start(t, n, "alltoallv").Wait()
		})
	}
}

func TestTooShort(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		require.NoError(t, symwin.Run(context.Background(), n, tooShort))
	}
	ranktest.Start(t, 4, "too-short").Wait()
}

func TestMismatch(t *testing.T) {
	require.NoError(t, symwin.Run(context.Background(), 3, mismatch))
	ranktest.Start(t, 3, "mismatch").Wait()
}

func TestKilledInAllToAll(t *testing.T) {
	for range 5 {
		j := ranktest.Start(t, 3, "kill-me")
		for _, r := range j.Ranks {
			r.Await(t, "joined")
		}
		j.Ranks[1].Signal(9)
		require.Equal(t, 137, j.Ranks[1].Wait())
		require.Zero(t, j.Ranks[0].Wait(), j.Ranks[0].Output())
		require.Zero(t, j.Ranks[2].Wait(), j.Ranks[2].Output())
	}
}
