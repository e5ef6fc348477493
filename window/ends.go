package window

import (
	"os"
	"slices"
)

// extent is a piece of a window, in bytes from its start.
type extent struct{ off, size int64 }

func (e extent) end() int64 { return e.off + e.size }

// pageBytes is the granule of all placement. Users are promised 64 bytes of
// alignment; whole pages are used because memory is reserved and given back by
// the page: a page of two allocations could neither be released with the first
// nor be zeroed for its successor while the second lives. It is the same on all
// ranks, since they run on one kernel.
var pageBytes = int64(os.Getpagesize())

// pages rounds n up to whole pages, at least one. n is below tooLarge.
func pages(n int64) int64 {
	return (max(n, 1) + pageBytes - 1) &^ (pageBytes - 1)
}

// tooLarge is more than any window has (2^40) and small enough that no sum of
// two sizes overflows.
const tooLarge = 1 << 60

// ends is the placement in one window. What is taken is kept in two lists by
// ascending offset; whatever lies between is free, so neighbours coalesce by
// themselves. Every member of areas lies above every member of heap.
//
// It holds as many entries as a program has allocations, and is used at their
// beginning and end only, so the plain scan is as fast as it need be.
type ends struct {
	size  int64
	heap  []extent
	areas []extent
}

// heapEnd is where the heap's last allocation ends.
func (e *ends) heapEnd() int64 {
	if len(e.heap) == 0 {
		return 0
	}
	return e.heap[len(e.heap)-1].end()
}

// floor is where the lowest area begins.
func (e *ends) floor() int64 {
	if len(e.areas) == 0 {
		return e.size
	}
	return e.areas[0].off
}

// placeHeap takes n bytes, whole pages, at the lowest offset where the heap has
// room (first fit). That offset follows from the heap's history alone and so is
// the same on all ranks; whether an area is in the way is not. fits says so, and
// if it does not, nothing is taken and have is the most that would have.
func (e *ends) placeHeap(n int64) (off int64, fits bool, have int64) {
	at, low, floor := len(e.heap), int64(0), e.floor()
	off = e.heapEnd()
	have = floor - off
	for i, x := range e.heap {
		if x.off-low >= n {
			at, off = i, low
			break
		}
		have = max(have, x.off-low)
		low = x.end()
	}
	if n > floor-off {
		return off, false, have
	}
	e.heap = slices.Insert(e.heap, at, extent{off, n})
	return off, true, 0
}

// placeArea takes n bytes, whole pages, at the highest offset above the heap
// where there is room. Holes inside the heap are left to the heap: an area there
// would be in the way of the next Alloc on this rank only.
func (e *ends) placeArea(n int64) (off int64, fits bool, have int64) {
	high := e.size
	for i := len(e.areas); ; i-- {
		low := e.heapEnd()
		if i > 0 {
			low = e.areas[i-1].end()
		}
		if high-low >= n {
			e.areas = slices.Insert(e.areas, i, extent{high - n, n})
			return high - n, true, 0
		}
		have = max(have, high-low)
		if i == 0 {
			return 0, false, have
		}
		high = e.areas[i-1].off
	}
}

// freeHeap and freeArea give back what begins at off.
func (e *ends) freeHeap(off int64) { e.heap = without(e.heap, off) }
func (e *ends) freeArea(off int64) { e.areas = without(e.areas, off) }

func without(list []extent, off int64) []extent {
	return slices.DeleteFunc(list, func(x extent) bool { return x.off == off })
}
