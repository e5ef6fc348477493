package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every byte is dealt once, in order, and nobody gets more than a piece more
// than another.
func TestDealCoversEveryByteOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files []found
		for i, size := range rapid.SliceOfN(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1<<20)), 0, 50).Draw(t, "sizes") {
			files = append(files, found{fmt.Sprint("file", i), size})
		}
		var bytes int64
		ranks := rapid.IntRange(1, 9).Draw(t, "ranks")
		got, empty, parts := make([]int64, ranks), make([]int, ranks), map[string][]Part{}
		for r, s := range deal(files, ranks) {
			for p, err := range s.parts() {
				require.NoError(t, err)
				if p.Size == 0 {
					empty[r]++
				} else {
					require.Less(t, p.Off, p.End)
				}
				got[r] += p.End - p.Off
				parts[p.Path] = append(parts[p.Path], p)
			}
		}
		for _, f := range files {
			bytes += f.size
			of := parts[f.path]
			require.NotEmpty(t, of)
			if f.size == 0 {
				require.Len(t, of, 1)
			}
			slices.SortFunc(of, func(a, b Part) int { return int(a.Off - b.Off) })
			at := int64(0)
			for _, p := range of {
				require.Equal(t, Part{f.path, at, p.End, f.size}, p)
				at = p.End
			}
			require.Equal(t, f.size, at)
		}
		require.LessOrEqual(t, slices.Max(got)-slices.Min(got), pieceSize(bytes, ranks))
		require.LessOrEqual(t, slices.Max(empty)-slices.Min(empty), 1)
	})
}

func TestADamagedShareIsRefused(t *testing.T) {
	whole := Share(nil).with(Part{"path", 300, 400, 500})
	for cut := 1; cut < len(whole); cut++ {
		for _, err := range whole[:cut].parts() {
			require.ErrorIs(t, err, errShare)
		}
	}
}

func TestTopIsTheFrontOfAllSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOfN(rapid.StringMatching(`[a-c]{1,4}`), rapid.Uint64Range(1, 6), 15, 60).Draw(t, "counts")
		var got top
		for _, w := range rapid.Permutation(slices.Sorted(maps.Keys(m))).Draw(t, "order") {
			if got.wants(m[w]) {
				got.offer([]byte(w), m[w])
			}
		}
		require.Equal(t, topOf(m), append(top{}, got...))
	})
}
