package window

import (
	"sync"
	"time"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/internal/topo"
)

// Copy copies src to the beginning of dst, which is at least as long, as suits
// data that is in the caches. Overlapping memory is copied right, as by copy.
func Copy(dst, src []byte) {
	if len(src) <= pieceBytes || Overlap(dst, src) {
		copy(dst, src)
		return
	}
	for len(src) > pieceBytes {
		copy(dst[:pieceBytes], src)
		dst, src = dst[pieceBytes:], src[pieceBytes:]
	}
	copy(dst, src)
}

// pieceBytes is the longest single copy. At exactly 1 MiB Go's memmove turns to
// streaming stores, which go past the caches to memory: 27 GB/s where ordinary
// ones reach 47 (Zen 4), 2.7 where they reach 9 (Cascade Lake). A whole number of
// pages below it keeps the pieces aligned.
const pieceBytes = 1<<20 - 4096

// CopyLoop is how to copy in an operation that touches so many bytes here, sources
// and destinations, while others ranks in all do the same. As Copy, it copies
// overlapping memory right.
//
// Cascade Lake, GB/s copied by each of two ranks at once, by the bytes that one
// of them copies:
//
//	                    128 KiB  512 KiB  2 MiB  8 MiB  128 MiB
//	Go, in pieces          34       18      9.0    4.3     3.8
//	rep movsb              34       24     10.7    3.8     3.6
//	AVX2                   33       18     10.3    4.2     4.2
//	AVX2, streaming       5.5      5.5      5.3    4.3     4.1
//	Go, whole              33       17      2.8    2.7     2.6
//
// So the middle, beyond the own cache and well inside the shared one, is measured
// on the spot (rep movsb need not read what it writes over; Zen 4 gains nothing by
// it), and what does not fit the shared cache goes past it.
func CopyLoop(bytes int64, ranks int) func(dst, src []byte) {
	all := bytes * int64(ranks)
	switch {
	case bytes <= topo.L2()/2:
		return Copy
	case all <= topo.L3()/2:
		return middle()
	case all <= topo.L3():
		return Copy
	}
	return far()
}

// far is the loop for what does not fit the shared cache.
var far = sync.OnceValue(func() func(dst, src []byte) {
	for _, l := range line.CopyLoops() {
		if l.Name == "avx2 streaming" {
			return whereApart(l.Copy)
		}
	}
	return Copy
})

// middle is the loop for what fits the shared cache and not the own one: the
// fastest of those that may be, or Go's unless another is clearly faster. It
// takes about a millisecond to find out, once.
var middle = sync.OnceValue(func() func(dst, src []byte) {
	const size, rounds, clearly = 768 << 10, 4, 0.95
	dst, src := make([]byte, size), make([]byte, size)
	line.Fill(src, 1)
	line.Fill(dst, 1)
	best := Copy
	least := fastest(rounds, best, dst, src)
	for _, l := range line.CopyLoops() {
		if l.Name != "rep movsb" && l.Name != "avx2" {
			continue
		}
		if took := fastest(rounds, l.Copy, dst, src); float64(took) < clearly*float64(least) {
			best, least = whereApart(l.Copy), took
		}
	}
	return best
})

func fastest(rounds int, f func(dst, src []byte), dst, src []byte) time.Duration {
	least := time.Hour
	for range rounds {
		start := time.Now()
		f(dst, src)
		least = min(least, time.Since(start))
	}
	return least
}

// whereApart uses f where the memory does not overlap, and for copies that are
// long enough for it.
func whereApart(f func(dst, src []byte)) func(dst, src []byte) {
	return func(dst, src []byte) {
		if len(src) < 4<<10 || Overlap(dst[:len(src)], src) {
			Copy(dst, src)
			return
		}
		f(dst, src)
	}
}

// put copies what one Put or Get moves.
func put(dst, src []byte) {
	if len(src) <= nearPut {
		copy(dst, src)
		return
	}
	CopyLoop(2*int64(len(src)), 2)(dst, src)
}

// nearPut is what needs no thought.
const nearPut = 64 << 10
