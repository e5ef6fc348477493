package lla2a

import (
	"sync/atomic"

	"github.com/symwin/symwin/window"
)

// layout says how the elements of a session lie in a region: one after the other,
// sender by sender, each in one piece with its tag behind it, as the last 8 bytes.
// An element of up to 8 bytes is a 16-byte line, and four share a cache line, whoever
// sends them. Larger ones share with those of their own sender alone, and only as
// far as none comes to touch more cache lines than it would by itself: where
// element and tag end within 16 or 32 bytes of a cache line, the next element
// begins there (64 messages in flight, Zen 5, ns each, in cache lines of their own
// and so: 16 bytes 10.5 and 8.2, 64 bytes 19 and 12, 128 bytes 27 and 20).
//
// The element is stored plainly, and then the tag with release; the tag is loaded
// with acquire, and the element only if it is the one waited for. So on every
// machine a tag of this epoch proves the element, and no word that is ever a tag
// is part of one. The tag comes last because the cache line that is stored last
// has to be the one that the receiver looks at: it would take another one away
// while it is being written.
//
// This is not the line of package epoch, whose data and tags are mixed so that no
// order is needed, and not its order, word u of all elements side by side, which
// suits the threads of a GPU. On a CPU order costs nothing, and a rank pays by
// the cache line. Two ranks, one way, ns, medians, one line each way 117:
//
//	bytes                                 8    16    32    64   256    1K    4K
//	16-byte lines, word by word         198   232   288   453  1802  6639 17388
//	16-byte lines, element by element   175   192   290
//	64-byte lines of 56 bytes and a tag 174   178   182   190   324   813  2229
//	in one piece                        163   158   168   190   311   620  1250
//
// Of that, sending, receiving and ending an epoch take 45 ns without any miss.
type layout struct {
	lines int // 16-byte lines from one element to the next
}

const (
	perCacheLine = 4 // lines
	tagBytes     = 8
)

func layoutOf(size, perPeer int) layout {
	if size <= 16-tagBytes {
		return layout{lines: 1}
	}
	last := (size+tagBytes-1)%64 + 1 // bytes in the last cache line
	to := perCacheLine
	switch {
	case last <= 16 && perPeer%4 == 0:
		to = 1
	case last <= 32 && perPeer%2 == 0:
		to = 2
	}
	return layout{lines: roundUp((size+tagBytes+15)/16, to)}
}

// tag is the tag of the element at line l.
func (a layout) tag(b block, l int) *uint64 { return &b[2*(l+a.lines)-1] }

// holds reports whether the element at line l is of the epoch with tag. If it is,
// it may be loaded.
func (a layout) holds(b block, l int, tag uint32) bool {
	return atomic.LoadUint64(a.tag(b, l)) == uint64(tag)
}

// take loads the element at line l into v.
func take[T any](b block, l int, v *T) { carry(v, element[T](b, l)) }

// carry copies an element. One of up to 16 bytes is a load and a store; a larger
// one goes as bytes, by the vectors that copy uses, and also because an assignment
// would first read a word behind either pointer to see that it is not nil: that
// fetched the line from the receiver, who looks at it, once more before each store
// (32 bytes one way 89 ns, and 59).
func carry[T any](to, from *T) {
	if window.SizeOf[T]() <= 16 {
		*to = *from // blind
	} else {
		window.Copy(bytesOf(to), bytesOf(from)) // blind
	}
}
