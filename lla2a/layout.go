package lla2a

import (
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
)

// layout says how the elements of a session lie in a region: one after the other,
// sender by sender.
//
// An element of up to 8 bytes is the data of a 16-byte line; four of them share a
// cache line. A larger one has cache lines of its own, a cell: the element in one
// piece, and its tag as the last 8 bytes. Two ranks, one way, ns, one line each
// way 117 in the same run:
//
//	bytes                                 8    16    32    64   256    1K    4K
//	16-byte lines, word by word (below) 198   232   288   453  1802  6639 17388
//	16-byte lines, element by element   175   192   290   ·
//	64-byte lines of 56 bytes and a tag 174   178   182   190   324   813  2229
//
// Word by word is the plan of package epoch: word u of all elements side by side
// (epoch.WordAt), which suits the threads of a GPU. A rank on a CPU takes an
// element at a time and pays by the cache line.
type layout struct {
	lines int  // from one element to the next
	cell  bool // an element is a cell
}

const (
	perCacheLine = 4 // lines
	wordBytes    = 8
)

func layoutOf(size int) layout {
	if size <= wordBytes {
		return layout{lines: 1}
	}
	return layout{lines: perCacheLine * ((size-1+wordBytes)/64 + 1), cell: true}
}

// holds reports whether the element at line l is of the epoch with tag.
func (a layout) holds(b block, l int, tag uint32) bool {
	if a.cell {
		return atomic.LoadUint64(a.tag(b, l)) == uint64(tag)
	}
	_, ok := b.get(l, tag)
	return ok
}

// tag is the word behind the element in the cell at line l.
func (a layout) tag(b block, l int) *uint64 { return &b[2*(l+a.lines)-1] }

// put stores an element at line l.
//
// In a cell the element is stored plainly, the tag with release; the tag is loaded
// with acquire, and the element only if it matches. So on every machine a tag of
// this epoch proves the element, and no word that is ever a tag is part of one.
// The tag is in the last cache line because that is stored last: the receiver
// looks at it, and would take one away that is still being written.
func put[T any](a layout, b block, l int, v *T, tag uint32) {
	if !a.cell {
		b.put(l, word(v), tag)
		return
	}
	*inCell[T](b, l) = *v
	line.StoreRelease64(a.tag(b, l), uint64(tag))
}

// get loads the element at line l, which layout.holds has found there.
func get[T any](a layout, b block, l int, tag uint32) T {
	if !a.cell {
		data, _ := b.get(l, tag)
		return fromWord[T](data)
	}
	return *inCell[T](b, l)
}
