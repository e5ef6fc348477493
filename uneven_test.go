package symwin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
	"pgregory.net/rapid"
)

// TestAnyCounts: parts of any lengths, of windows and private memory, from and to
// any ranks.
func TestAnyCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 3, 4, 5, 6, 7, 8, 16}).Draw(t, "ranks")
		length := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 20), rapid.IntRange(0, 20_000))
		counts := rapid.SliceOfN(rapid.SliceOfN(length, n, n), n, n).Draw(t, "counts") // [from][to]
		windows := rapid.SliceOfN(rapid.Bool(), 2*n, 2*n).Draw(t, "windows")           // dst, src of each rank
		short := rapid.SliceOfN(rapid.IntRange(-20, 3), n, n).Draw(t, "room")          // less than nothing: as long as needed
		require.NoError(t, runWith(symwin.Options{Size: n, Window: 8 << 20}, func(ctx context.Context, w *symwin.World) error {
			return anyCounts(ctx, w, counts, windows, short)
		}))
	})
}

func anyCounts(ctx context.Context, w *symwin.World, counts [][]int, windows []bool, short []int) error {
	n, me := w.Size(), w.Rank()
	sum := func(c []int) (s int) {
		for _, v := range c {
			s += v
		}
		return s
	}
	most := 1
	for r := range n {
		column := 0
		for from := range n {
			column += counts[from][r]
		}
		most = max(most, column, sum(counts[r]))
	}
	win := [2]*symwin.Window[int32]{}
	for i := range win {
		var err error
		if win[i], err = symwin.Alloc[int32](ctx, w, most); err != nil {
			return err
		}
	}
	memory := func(i, n int) []int32 {
		if windows[2*me+i] {
			return win[i].Local()[:n:n]
		}
		return make([]int32, n)
	}
	of := func(from, to, i int) int32 { return int32(from<<28 ^ to<<24 ^ i) }

	// comes[r] is the counts that come to rank r, whole what it then has.
	exam := func(what string, comes func(r int) []int, whole []int32, call func(dst []int32, dstCounts []int) error) error {
		need := sum(comes(me))
		refuser := -1
		for r := n - 1; r >= 0; r-- {
			if short[r] >= 0 && sum(comes(r)) > short[r] {
				refuser = r
			}
		}
		if short[me] >= 0 {
			need = min(need, short[me])
		}
		dst, got := memory(0, need), make([]int, n)
		for i := range dst {
			dst[i] = -1
		}
		err := call(dst, got)
		if !slices.Equal(got, comes(me)) {
			return fmt.Errorf("%s: counts %v, should be %v", what, got, comes(me))
		}
		var e *symwin.TooShortError
		switch {
		case refuser < 0 && err != nil:
			return err
		case refuser < 0 && !slices.Equal(dst[:len(whole)], whole):
			return fmt.Errorf("%s: rank %d got wrong data", what, me)
		case refuser >= 0 && (!errors.As(err, &e) || e.Rank != refuser || e.Need != sum(comes(refuser)) || e.Have != min(short[refuser], e.Need)):
			return fmt.Errorf("%s: rank %d got %v, should be told of rank %d", what, me, err, refuser)
		case refuser >= 0 && slices.ContainsFunc(dst, func(v int32) bool { return v != -1 }):
			return fmt.Errorf("%s: something was copied", what)
		}
		return symwin.Barrier(ctx, w.Team())
	}

	src, whole := memory(1, sum(counts[me]))[:0], []int32(nil)
	for to, c := range counts[me] {
		for i := range c {
			src = append(src, of(me, to, i))
		}
	}
	columns := func(r int) (c []int) {
		for from := range n {
			c = append(c, counts[from][r])
		}
		return c
	}
	for from, c := range columns(me) {
		for i := range c {
			whole = append(whole, of(from, me, i))
		}
	}
	if err := exam("alltoallv", columns, whole, func(dst []int32, got []int) error {
		return symwin.AllToAllv(ctx, w.Team(), dst, got, src, counts[me])
	}); err != nil {
		return err
	}

	first := func(int) (c []int) { // of each rank what it had for rank 0
		for from := range n {
			c = append(c, counts[from][0])
		}
		return c
	}
	mine := memory(1, counts[me][0])
	for i := range mine {
		mine[i] = of(me, 0, i)
	}
	whole = whole[:0]
	for from, c := range first(0) {
		for i := range c {
			whole = append(whole, of(from, 0, i))
		}
	}
	return exam("allgatherv", first, whole, func(dst []int32, got []int) error {
		return symwin.AllGatherv(ctx, w.Team(), dst, got, mine)
	})
}
