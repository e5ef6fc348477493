package ce

import (
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
)

// A rank's area of a stream, for a team of n:
//
//	n lines   ready[r]     written by receiver r: where it wants this rank's data
//	n lines   complete[s]  written by sender s: pieces it has copied here, ever
//	n lines   credit[r]    written by receiver r: staged pieces of this rank it has copied out, ever
//	n-1 rings ring[s]      written by sender s: its staged pieces for this rank
//
// One writer and one reader per line. Counters only grow; readers compare with ≥.
// A store that announces data is a release after the copy; its load an acquire
// before the copy out. A credit is a release after the copy out, so the sender's
// next copy into the piece comes after it.
const lineWords = 8

// readyLine is what a receiver tells a sender before an operation.
type readyLine struct {
	place   uint64 // offset in the receiver's window, or staged
	length  uint64 // bytes it expects
	refused uint64 // 0, or 1 + elements that would have come
	have    uint64 // elements it holds, where it refuses
}

// staged as a place: into the ring.
const staged = ^uint64(0)

// control is the flag part of an area, as words.
type control []uint64

func (c control) line(kind, n, r int) []uint64 {
	at := (kind*n + r) * lineWords
	return c[at : at+lineWords : at+lineWords]
}

const (
	kindReady = iota
	kindComplete
	kindCredit
	kinds
)

// postReady stores what the sender at the other end reads: the sequence last,
// with release.
func postReady(to []uint64, sequence uint64, r readyLine) {
	line.StoreRelease64(&to[0], r.place)
	line.StoreRelease64(&to[1], r.length)
	line.StoreRelease64(&to[2], r.refused)
	line.StoreRelease64(&to[3], r.have)
	line.StoreRelease64(&to[lineWords-1], sequence)
}

// readReady reads the ready line for an operation, once it has come.
func readReady(from []uint64, sequence uint64) (readyLine, bool) {
	if atomic.LoadUint64(&from[lineWords-1]) < sequence {
		return readyLine{}, false
	}
	return readyLine{
		place:   atomic.LoadUint64(&from[0]),
		length:  atomic.LoadUint64(&from[1]),
		refused: atomic.LoadUint64(&from[2]),
		have:    atomic.LoadUint64(&from[3]),
	}, true
}

// ringOf numbers the rings of a receiver by sender; there is none for itself.
func ringOf(sender, receiver int) int {
	if sender > receiver {
		return sender - 1
	}
	return sender
}
