package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every byte is dealt once, at whichever end, and no share is larger than it may be,
// though the pile grows while it is dealt.
func TestDealCoversEveryByteOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []found
		for i, size := range rapid.SliceOfN(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 3*shareBytes)), 0, 50).Draw(t, "sizes") {
			all = append(all, found{strings.Repeat("x", rapid.IntRange(1, 300).Draw(t, "path")) + fmt.Sprint(i), size})
		}
		room := rapid.IntRange(partBytes(strings.Repeat("x", 303)), 2000).Draw(t, "room")
		var p pile
		parts := map[string][]Part{}
		for listed := 0; listed < len(all) || p.first+p.back < len(p.files); {
			at := front
			if listed == len(all) {
				at = end(rapid.IntRange(0, 1).Draw(t, "end"))
			}
			more := rapid.IntRange(0, len(all)-listed).Draw(t, "listed")
			p.files = append(p.files, all[listed:listed+more]...)
			listed += more
			share, bytes := p.deal(at, room), int64(0)
			require.LessOrEqual(t, len(share), room)
			for part, err := range share.parts() {
				require.NoError(t, err)
				bytes += part.End - part.Off
				parts[part.Path] = append(parts[part.Path], part)
			}
			require.LessOrEqual(t, bytes, int64(shareBytes))
		}
		require.Empty(t, p.deal(front, room))
		require.Empty(t, p.deal(back, room))
		for _, f := range all {
			of := parts[f.path]
			require.NotEmpty(t, of)
			slices.SortFunc(of, func(a, b Part) int { return int(a.Off - b.Off) })
			at := int64(0)
			for _, p := range of {
				require.Equal(t, Part{f.path, at, p.End, f.size}, p)
				at = p.End
			}
			require.Equal(t, f.size, at)
			if f.size <= shareBytes {
				require.Len(t, of, 1, "a small file stays whole")
			}
		}
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
