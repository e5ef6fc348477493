package window_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// value is what rank from puts for rank to in round, as element i.
func value(from, to, round, i int) int32 {
	return int32(1 + i + 1000*from + 100_000*to + 10_000_000*round)
}

// exchange is an all-to-all of put and signal over one window with a part per
// sender, several rounds, every element verified in each. It is what the tests
// in one process and those in many run.
func exchange(ctx context.Context, w *symmem.World, part, rounds int) error {
	n, me := w.Size(), w.Rank()
	win, err := window.Alloc[int32](ctx, w, n*part)
	if err != nil {
		return err
	}
	for i, v := range win.Local() {
		if v != 0 {
			return fmt.Errorf("element %d is %d at the beginning", i, v)
		}
	}
	if err := win.Populate((me + 1) % n); err != nil {
		return err
	}
	if err := w.Team().Barrier(ctx); err != nil { // all have looked
		return err
	}
	src, got := make([]int32, part), make([]int32, part)
	for round := range rounds {
		for k := range n {
			to := (me + k) % n
			for i := range src {
				src[i] = value(me, to, round, i)
			}
			if err := win.PutSignal(to, me*part, src, round%window.Signals); err != nil {
				return err
			}
		}
		for from := range n {
			want := uint64(round/window.Signals + 1)
			count, err := win.WaitSignal(ctx, from, round%window.Signals, want)
			if err != nil {
				return err
			}
			if count != want {
				return fmt.Errorf("round %d: rank %d has signalled %d times, not %d", round, from, count, want)
			}
			for i, v := range win.Local()[from*part:][:part] {
				if v != value(from, me, round, i) {
					return fmt.Errorf("round %d: element %d of rank %d is %d, not %d", round, i, from, v, value(from, me, round, i))
				}
			}
			// What this rank put there can be read back.
			if err := win.Get(from, me*part, got); err != nil {
				return err
			}
			for i, v := range got {
				if v != value(me, from, round, i) {
					return fmt.Errorf("round %d: element %d at rank %d is %d, not %d", round, i, from, v, value(me, from, round, i))
				}
			}
		}
		if err := w.Team().Barrier(ctx); err != nil { // read before it is overwritten
			return err
		}
	}
	return win.Free(ctx)
}

// Longer than one piece of a copy, at a place that begins on no line, and onto
// itself: in place must be right.
func TestLongCopies(t *testing.T) {
	const n = 2<<20 + 5
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[byte](ctx, w, n+200)
		if err != nil {
			return err
		}
		src, want := make([]byte, n), make([]byte, n+200)
		for i := range src {
			src[i] = byte(i*7 + i>>11 + w.Rank())
		}
		if err := win.Put(1-w.Rank(), 3, src); err != nil {
			return err
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		for i := range n {
			want[3+i] = byte(i*7 + i>>11 + 1 - w.Rank())
		}
		check := func(what string) error {
			if !bytes.Equal(want, win.Local()) {
				return fmt.Errorf("%s: contents differ", what)
			}
			return nil
		}
		if err := check("put"); err != nil {
			return err
		}
		for _, by := range []int{100, -90} { // upwards, downwards
			from := 100
			copy(want[from+by:from+by+n], want[from:from+n])
			if err := win.Put(w.Rank(), from+by, win.Local()[from:from+n]); err != nil {
				return err
			}
			if err := check(fmt.Sprintf("moved by %d", by)); err != nil {
				return err
			}
		}
		return nil
	})
}

// What is outside a window is refused by every call, however large the numbers,
// and nothing is stored.
func TestBounds(t *testing.T) {
	const n = 100
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[int64](ctx, w, n)
		if err != nil {
			return err
		}
		other := 1 - w.Rank()
		one := []int64{-1}
		for _, c := range []struct{ off, n int }{
			{-1, 1}, {n, 1}, {n - 3, 4}, {0, n + 1}, {n + 1, 0}, {math.MinInt, 1},
			{math.MaxInt, 1}, {math.MaxInt, math.MaxInt}, {1 << 61, 1 << 61}, {math.MaxInt/8 + 1, 1}, {1, math.MaxInt}, {1, -1},
		} {
			span := win.At(c.off, c.n)
			_, err := span.On(w, other)
			if !errors.Is(span.Err(), symmem.ErrUsage) || !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("At(%d, %d): %v, %v", c.off, c.n, span.Err(), err)
			}
			if c.n < 0 || c.n > 2*n {
				continue
			}
			b := make([]int64, c.n)
			for i := range b {
				b[i] = -1
			}
			for what, err := range map[string]error{
				"put":        win.Put(other, c.off, b),
				"get":        win.Get(other, c.off, b),
				"put signal": win.PutSignal(other, c.off, b, 0),
			} {
				if !errors.Is(err, symmem.ErrUsage) {
					return fmt.Errorf("%s %d at %d: %v", what, c.n, c.off, err)
				}
			}
		}
		for _, rank := range []int{-1, 2, math.MaxInt} {
			_, waited := win.WaitSignal(ctx, rank, 0, 0)
			_, on := win.At(0, 1).On(w, rank)
			for what, err := range map[string]error{
				"put": win.Put(rank, 0, one), "get": win.Get(rank, 0, one), "signal": win.Signal(rank, 0),
				"put signal": win.PutSignal(rank, 0, one, 0), "wait": waited, "on": on,
			} {
				if !errors.Is(err, symmem.ErrUsage) {
					return fmt.Errorf("%s, rank %d: %v", what, rank, err)
				}
			}
		}
		for _, idx := range []int{-1, window.Signals, math.MaxInt} {
			_, waited := win.WaitSignal(ctx, other, idx, 0)
			for what, err := range map[string]error{
				"signal": win.Signal(other, idx), "put signal": win.PutSignal(other, 0, one, idx), "wait": waited,
			} {
				if !errors.Is(err, symmem.ErrUsage) {
					return fmt.Errorf("%s, signal %d: %v", what, idx, err)
				}
			}
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		for i, v := range win.Local() {
			if v != 0 {
				return fmt.Errorf("element %d was stored: %d", i, v)
			}
		}
		for idx := range window.Signals {
			if count, err := win.WaitSignal(ctx, other, idx, 0); count != 0 || err != nil {
				return fmt.Errorf("signal %d was stored: %d, %v", idx, count, err)
			}
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		// The last element is inside, and so is nothing at the end.
		return errors.Join(win.Put(other, n-1, one), win.Put(other, n, nil), win.At(n, 0).Err())
	})
}

func TestBytesOfNumbersFromAPeer(t *testing.T) {
	run(t, 2, func(_ context.Context, w *symmem.World) error {
		size := uint64(w.Geometry().Window)
		for _, c := range []struct {
			rank   int
			off, n uint64
		}{
			{0, size, 1}, {0, size - 3, 4}, {1, 0, size + 1}, {1, math.MaxUint64, 1}, {1, math.MaxUint64, math.MaxUint64},
			{0, 1, math.MaxUint64}, {0, 1 << 63, 1 << 63}, {-1, 0, 0}, {2, 0, 0},
		} {
			if b, err := window.Bytes(w, c.rank, c.off, c.n); !errors.Is(err, symmem.ErrRegion) || b != nil {
				return fmt.Errorf("%+v: %d bytes, %v", c, len(b), err)
			}
		}
		b, err := window.Bytes(w, 1, size-3, 3)
		if err != nil || len(b) != 3 || cap(b) != 3 {
			return fmt.Errorf("the last three: %d bytes, %v", len(b), err)
		}
		return nil
	})
}

// What peers have put, with signals and all, is gone when the memory comes again.
func TestReusedMemoryIsZero(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		const part = 3333
		ones := make([]byte, 3*part)
		for i := range ones {
			ones[i] = 255
		}
		var first window.Span
		for round := range 5 {
			win, err := window.Alloc[byte](ctx, w, len(ones))
			if err != nil {
				return err
			}
			if !zero(win.Local()) {
				return fmt.Errorf("round %d: not zero", round)
			}
			if round == 0 {
				first = win.At(0, 1)
			} else if first.Offset() != win.At(0, 1).Offset() {
				return fmt.Errorf("round %d: at %d, freed was %d", round, win.At(0, 1).Offset(), first.Offset())
			}
			for from := range w.Size() {
				for idx := range window.Signals {
					if count, err := win.WaitSignal(ctx, from, idx, 0); count != 0 || err != nil {
						return fmt.Errorf("round %d: count %d, %v", round, count, err)
					}
				}
			}
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			for to := range w.Size() {
				if err := win.PutSignal(to, w.Rank()*part, ones[:part], to); err != nil {
					return err
				}
			}
			if err := win.Free(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestAfterFree(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[float64](ctx, w, 10)
		if err != nil {
			return err
		}
		span, local := win.At(0, 10), win.Local()
		if err := win.Free(ctx); err != nil {
			return err
		}
		_, waited := win.WaitSignal(ctx, 0, 0, 0)
		_, on := span.On(w, 0)
		one := []float64{1}
		for what, err := range map[string]error{
			"put": win.Put(0, 0, one), "get": win.Get(0, 0, one), "signal": win.Signal(0, 0),
			"put signal": win.PutSignal(0, 0, one, 0), "wait": waited, "span": on, "free": win.Free(ctx),
		} {
			if !errors.Is(err, window.ErrFreed) || !errors.Is(err, symmem.ErrClosed) {
				return fmt.Errorf("%s: %v", what, err)
			}
		}
		if _, found := window.Find(w, local); found || win.Local() != nil || win.Peer(1) != nil {
			return errors.New("a freed window is still handed out or found")
		}
		// The team goes on, and Close keeps what was handed out mapped.
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		if win, err = window.Alloc[float64](ctx, w, 10); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		for what, err := range map[string]error{
			"put": win.Put(0, 0, one), "free": win.Free(ctx), "signal": win.Signal(0, 0),
		} {
			if !errors.Is(err, symmem.ErrClosed) || errors.Is(err, window.ErrFreed) {
				return fmt.Errorf("%s on a closed world: %v", what, err)
			}
		}
		return nil
	})
}

func TestFind(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		if _, found := window.Find(w, make([]int32, 5)); found {
			return errors.New("found in a world without windows")
		}
		var wins []*window.Window[int32]
		for range 5 {
			win, err := window.Alloc[int32](ctx, w, 1000)
			if err != nil {
				return err
			}
			wins = append(wins, win)
		}
		if err := wins[2].Free(ctx); err != nil { // a hole
			return err
		}
		wins = append(wins[:2], wins[3:]...)
		for i, win := range wins {
			for _, c := range [][2]int{{0, 1000}, {999, 1}, {0, 1}, {17, 500}} {
				s := win.Local()[c[0]:][:c[1]]
				span, found := window.Find(w, s)
				if want := win.At(c[0], c[1]); !found || span != want {
					return fmt.Errorf("window %d: elements %v: %v, %+v", i, c, found, span)
				}
				there, err := span.On(w, 1-w.Rank())
				if err != nil || &there[0] != &window.Raw(win.Peer(1 - w.Rank())[c[0]:])[0] || len(there) != 4*c[1] {
					return fmt.Errorf("window %d: elements %v lie elsewhere at the peer: %v", i, c, err)
				}
			}
			if _, found := window.Find(w, win.Local()[3:3]); found {
				return errors.New("an empty slice was found")
			}
			if _, found := window.Find(w, win.Peer(1-w.Rank())); found {
				return errors.New("a peer's memory was found in the own window")
			}
		}
		// Neither what lies between windows nor what reaches beyond one.
		area, err := window.OpenArea(ctx, w.Team(), opening(1), 4096)
		if err != nil {
			return err
		}
		if _, found := window.Find(w, area.Local()); found {
			return errors.New("an area was found")
		}
		for _, c := range [][2]uint64{{0, 4001}, {4000, 1}, {4000, 8}} {
			b, err := window.Bytes(w, w.Rank(), uint64(wins[0].At(0, 0).Offset())+c[0], c[1])
			if err != nil {
				return err
			}
			if span, found := window.Find(w, b); found {
				return fmt.Errorf("bytes %v were found: %+v", c, span)
			}
		}
		if _, found := window.Find(w, make([]int32, 5)); found {
			return errors.New("memory of the program's own was found")
		}
		return nil
	})
}

// A world that was closed before it had a window has no memory to look at.
func TestClosedWorldWithoutWindows(t *testing.T) {
	ctx := context.Background()
	w, err := symmem.JoinWith(ctx, symmem.Options{Window: 2 << 20})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, found := window.Find(w, []int{1})
	require.False(t, found)
	_, err = window.Alloc[int](ctx, w, 1)
	require.ErrorIs(t, err, symmem.ErrClosed)
	_, err = window.OpenArea(ctx, w.Team(), opening(1), 1)
	require.ErrorIs(t, err, symmem.ErrClosed)
}

// A slice that was handed out stays mapped, whatever becomes of its window and
// its world; without one, memory goes with the world.
func TestHandedOutSlicesOutliveTheWorld(t *testing.T) {
	ctx := context.Background()
	for _, freed := range []bool{false, true} {
		w, err := symmem.JoinWith(ctx, symmem.Options{Window: 2 << 20})
		require.NoError(t, err)
		win, err := window.Alloc[int](ctx, w, 100)
		require.NoError(t, err)
		local := win.Local()
		if freed {
			require.NoError(t, win.Free(ctx))
		}
		require.NoError(t, w.Close())
		for i := range local {
			local[i] = i // would fault
		}
		if !freed {
			require.Equal(t, local, win.Local())
		}
		require.ErrorIs(t, win.Get(0, 0, local[:1]), symmem.ErrClosed)
	}
}

func TestZeroSpanIsAnError(t *testing.T) {
	var s window.Span
	require.ErrorIs(t, s.Err(), symmem.ErrUsage)
	_, err := s.On(nil, 0)
	require.ErrorIs(t, err, symmem.ErrUsage)
	require.Zero(t, s.Bytes()+s.Offset())
}

func TestElementsWithoutSize(t *testing.T) {
	run(t, 1, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[struct{}](ctx, w, 10)
		if err != nil {
			return err
		}
		if len(win.Local()) != 10 {
			return fmt.Errorf("%d elements", len(win.Local()))
		}
		return errors.Join(win.Put(0, 9, make([]struct{}, 1)), win.Free(ctx))
	})
}

// Of each rank, one goroutine per index sends to the next rank, and one receives
// from the rank before and acknowledges, all at once.
func TestGoroutinesOfOneRank(t *testing.T) {
	const n, rounds = 3, 50
	run(t, n, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[uint64](ctx, w, window.Signals)
		if err != nil {
			return err
		}
		next, before := (w.Rank()+1)%n, (w.Rank()+n-1)%n
		word := func(from, idx int, k uint64) uint64 { return k*1000 + uint64(from*100+idx) }
		send := func(idx int) error {
			for k := uint64(1); k <= rounds; k++ {
				if err := win.PutSignal(next, idx, []uint64{word(w.Rank(), idx, k)}, idx); err != nil {
					return err
				}
				if _, err := win.WaitSignal(ctx, next, idx, k); err != nil {
					return err
				}
			}
			return nil
		}
		receive := func(idx int) error {
			for k := uint64(1); k <= rounds; k++ {
				if _, err := win.WaitSignal(ctx, before, idx, k); err != nil {
					return err
				}
				if got, want := win.Local()[idx], word(before, idx, k); got != want {
					return fmt.Errorf("index %d, round %d: %d, not %d", idx, k, got, want)
				}
				if err := win.Signal(before, idx); err != nil {
					return err
				}
			}
			return nil
		}
		var errs [2 * window.Signals]error
		var wg sync.WaitGroup
		for idx := range window.Signals {
			wg.Go(func() { errs[2*idx] = send(idx) })
			wg.Go(func() { errs[2*idx+1] = receive(idx) })
		}
		wg.Wait()
		return errors.Join(errs[:]...)
	})
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	run(t, 1, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[int32](ctx, w, 100)
		if err != nil {
			return err
		}
		src := make([]int32, 50)
		var sent uint64
		perRun := testing.AllocsPerRun(100, func() {
			sent++
			err = errors.Join(err, win.PutSignal(0, 7, src, 3))
			_, waited := win.WaitSignal(ctx, 0, 3, sent)
			if _, found := window.Find(w, win.Local()[3:50]); !found || waited != nil {
				err = errors.New("not found")
			}
		})
		if perRun != 0 {
			return fmt.Errorf("%v allocations", perRun)
		}
		return err
	})
}
