package lla2a

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/symwin/symwin/epoch"
	"github.com/symwin/symwin/internal/line"
)

// layout says how the elements of a session lie in a region. They lie one after
// the other, each in as few cache lines as it fits and none of them across the
// edge of one without need:
//
//   - up to 32 bytes, as 1, 2 or 4 lines of 16 bytes, so in one cache line;
//   - above, as wide lines of 64 bytes: 56 of the element, and a tag behind them.
//
// The plan of package epoch puts word u of all elements side by side (WordAt),
// which suits the threads of a GPU. A rank on a CPU takes an element at a time
// and pays by the cache line, and side by side each word of an element is in a
// cache line of its own that it shares with other senders.
type layout struct {
	lines int  // 16-byte lines from one element to the next
	wide  bool // they are taken four at a time, as wide lines
}

const (
	cacheLine   = 4  // lines
	wideBytes   = 56 // of an element in one wide line
	narrowBytes = 32 // the largest element that lies in 16-byte lines
)

func layoutOf(size int) layout {
	if size > narrowBytes {
		return layout{lines: cacheLine * ((size-1)/wideBytes + 1), wide: true}
	}
	lines := 1
	for lines < epoch.Words(size) {
		lines *= 2
	}
	return layout{lines: lines}
}

// put stores an element into the lines from l on, first to last.
func (a layout) put(b block, l int, p []byte, tag uint32) {
	if a.wide {
		b.putWide(l, p, tag)
		return
	}
	for ; len(p) >= 8; l++ {
		b.put(l, binary.LittleEndian.Uint64(p), tag)
		p = p[8:]
	}
	if len(p) > 0 {
		var word [8]byte
		copy(word[:], p)
		b.put(l, binary.LittleEndian.Uint64(word[:]), tag)
	}
}

// get loads an element from the lines from l on into p, and reports whether all
// of them are of the epoch with tag; if not, p may be part written.
func (a layout) get(b block, l int, p []byte, tag uint32) bool {
	if a.wide {
		return b.getWide(l, p, tag)
	}
	for ; len(p) >= 8; l++ {
		data, ok := b.get(l, tag)
		if !ok {
			return false
		}
		binary.LittleEndian.PutUint64(p, data)
		p = p[8:]
	}
	if len(p) > 0 {
		data, ok := b.get(l, tag)
		if !ok {
			return false
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], data)
		copy(p, word[:])
	}
	return true
}

// come reports whether all lines of an element of size bytes at l have come. It
// looks at the last first: the sender stores that one last, and a look at one
// that is being written takes it away from the sender.
func (a layout) come(b block, l, size int, tag uint32) bool {
	if a.wide {
		for u := (size - 1) / wideBytes; u >= 0; u-- {
			if !b.holdsWide(l+cacheLine*u, tag) {
				return false
			}
		}
		return true
	}
	for u := (size - 1) / 8; u >= 0; u-- {
		if _, ok := b.get(l+u, tag); !ok {
			return false
		}
	}
	return true
}

// wideLine is the 64-byte line that begins at line l: seven words of data, and
// last their tag, as 8 bytes. The data are stored plainly, then the tag with
// release; the tag is loaded with acquire, and the data only if it matches. So
// on every machine a tag of this epoch proves the data. A word that is a tag is
// one in every epoch of the session.
type wideLine [8]uint64

func (b block) wideLine(l int) *wideLine { return (*wideLine)(b[2*l : 2*l+8]) }

func (w *wideLine) tag() *uint64 { return &w[7] }

func (b block) holdsWide(l int, tag uint32) bool {
	return atomic.LoadUint64(b.wideLine(l).tag()) == uint64(tag)
}

func (b block) putWide(l int, p []byte, tag uint32) {
	for ; len(p) > wideBytes; l += cacheLine {
		w := b.wideLine(l)
		*w.data() = [wideBytes]byte(p)
		line.StoreRelease64(w.tag(), uint64(tag))
		p = p[wideBytes:]
	}
	w := b.wideLine(l)
	copy(w.data()[:], p)
	line.StoreRelease64(w.tag(), uint64(tag))
}

func (b block) getWide(l int, p []byte, tag uint32) bool {
	for ; len(p) > wideBytes; l += cacheLine {
		w := b.wideLine(l)
		if atomic.LoadUint64(w.tag()) != uint64(tag) {
			return false
		}
		*(*[wideBytes]byte)(p) = *w.data()
		p = p[wideBytes:]
	}
	w := b.wideLine(l)
	if atomic.LoadUint64(w.tag()) != uint64(tag) {
		return false
	}
	copy(p, w.data()[:])
	return true
}
