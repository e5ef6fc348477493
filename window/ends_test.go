package window

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pageMap is the placement as one would write it without thinking of speed: an
// owner for every page, and every offset tried in turn.
type pageMap []int // 0: free; k: heap allocation k; -k: area k

func (m pageMap) room(at, n int, free func(owner int) bool) bool {
	for _, owner := range m[at : at+n] {
		if !free(owner) {
			return false
		}
	}
	return true
}

func (m pageMap) take(at, n, owner int) {
	for i := range n {
		m[at+i] = owner
	}
}

func (m pageMap) give(owner int) {
	for i := range m {
		if m[i] == owner {
			m[i] = 0
		}
	}
}

// heap is the lowest offset where no other heap allocation is in the way, and
// whether no area is; -1 if it lies beyond the window.
func (m pageMap) heap(n int) (at int, fits bool) {
	for at = 0; at+n <= len(m); at++ {
		if m.room(at, n, func(owner int) bool { return owner <= 0 }) {
			return at, m.room(at, n, func(owner int) bool { return owner == 0 })
		}
	}
	return -1, false
}

// area is the highest offset above the heap with room, or -1.
func (m pageMap) area(n int) int {
	end := 0
	for i, owner := range m {
		if owner > 0 {
			end = i + 1
		}
	}
	for at := len(m) - n; at >= end; at-- {
		if m.room(at, n, func(owner int) bool { return owner == 0 }) {
			return at
		}
	}
	return -1
}

// Two ranks with one history of heap allocations and areas of their own: each
// places as its page map does, and what both can place lies at one offset.
func TestEndsAgainstPageMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const window = 24
		var e [2]ends
		var m [2]pageMap
		var heap []int64 // offsets, the same on both
		owners := map[int64]int{}
		var areas [2]map[int64]int
		for r := range e {
			e[r].size = window * pageBytes
			m[r] = make(pageMap, window)
			areas[r] = map[int64]int{}
		}
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				n := rapid.IntRange(1, window+2).Draw(t, "pages")
				next++
				var fits [2]bool
				var off [2]int64
				for r := range e {
					var have int64
					off[r], fits[r], have = e[r].placeHeap(int64(n) * pageBytes)
					at, want := m[r].heap(n)
					require.Equal(t, want, fits[r])
					if want {
						require.EqualValues(t, int64(at)*pageBytes, off[r])
						continue
					}
					require.Less(t, have, int64(n)*pageBytes)
					if have > 0 { // it says how much would have gone in
						_, want := m[r].heap(int(have / pageBytes))
						require.True(t, want)
					}
				}
				require.Equal(t, off[0], off[1], "both ranks, whatever their areas")
				for r := range e {
					switch {
					case fits[0] && fits[1]:
						m[r].take(int(off[r]/pageBytes), n, next)
					case fits[r]: // the vote failed
						e[r].freeHeap(off[r])
					}
				}
				if fits[0] && fits[1] {
					heap, owners[off[0]] = append(heap, off[0]), next
				}
			},
			"free": func(t *rapid.T) {
				if len(heap) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(heap)-1).Draw(t, "which")
				for r := range e {
					e[r].freeHeap(heap[i])
					m[r].give(owners[heap[i]])
				}
				heap = append(heap[:i], heap[i+1:]...)
			},
			"open": func(t *rapid.T) {
				r := rapid.IntRange(0, 1).Draw(t, "rank")
				n := rapid.IntRange(1, window/2).Draw(t, "pages")
				next++
				off, fits, have := e[r].placeArea(int64(n) * pageBytes)
				at := m[r].area(n)
				require.Equal(t, at >= 0, fits)
				if !fits {
					require.Less(t, have, int64(n)*pageBytes)
					require.True(t, have == 0 || m[r].area(int(have/pageBytes)) >= 0)
					return
				}
				require.EqualValues(t, int64(at)*pageBytes, off)
				m[r].take(at, n, -next)
				areas[r][off] = -next
			},
			"close": func(t *rapid.T) {
				r := rapid.IntRange(0, 1).Draw(t, "rank")
				if len(areas[r]) == 0 {
					t.Skip()
				}
				var offs []int64
				for _, x := range e[r].areas {
					offs = append(offs, x.off)
				}
				off := rapid.SampledFrom(offs).Draw(t, "which")
				e[r].freeArea(off)
				m[r].give(areas[r][off])
				delete(areas[r], off)
			},
		})
	})
}

func TestPages(t *testing.T) {
	for n, want := range map[int64]int64{0: 1, 1: 1, pageBytes: 1, pageBytes + 1: 2, 5*pageBytes - 1: 5} {
		require.Equal(t, want*pageBytes, pages(n), "%d bytes", n)
	}
	require.Positive(t, pages(tooLarge)+pages(tooLarge))
}
