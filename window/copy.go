package window

import (
	"slices"
	"sync"
	"time"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/internal/topo"
)

// Copy copies src to the beginning of dst, which is at least as long, as suits
// data that is in the caches. Overlapping memory is copied right, as by copy.
func Copy(dst, src []byte) {
	switch {
	case len(src) < leastCopy || Overlap(dst, src):
		copy(dst, src)
		return
	case len(src) <= firstLevel:
		first()(dst, src)
		return
	}
	for len(src) > pieceBytes {
		copy(dst[:pieceBytes], src)
		dst, src = dst[pieceBytes:], src[pieceBytes:]
	}
	copy(dst, src)
}

// leastCopy is from where on it pays to ask how a copy is best done, firstLevel the
// most of which source and destination stay in a cache of the first level.
const (
	leastCopy  = 4 << 10
	firstLevel = 24 << 10
)

// nearBytes is how many bytes an operation touches from which on near has been seen
// to be faster than Go's copy.
const nearBytes = 64 << 10

// pieceBytes is the longest single copy. At exactly 1 MiB Go's memmove turns to
// streaming stores, which go past the caches to memory: 27 GB/s where ordinary
// ones reach 47 (Zen 4), 2.7 where they reach 9 (Cascade Lake). A whole number of
// pages below it keeps the pieces aligned.
const pieceBytes = 1<<20 - 4096

// CopyLoop is how to copy in an operation that touches so many bytes here, sources
// and destinations, while so many ranks in all do the same. As Copy, it copies
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
// So what fits the own cache, and what fits the shared one well, are measured on the
// spot, and what does not fit the shared cache goes past it. (rep movsb need not read
// what it writes over. Zen 4 gains nothing by it; on Zen 5 an all-to-all of two ranks
// takes, Go's copy and rep movsb, µs: 16 KiB 0.53 and 0.40, 64 KiB 1.71 and 1.43,
// 256 KiB 7.5 and 6.5, 1 MiB 43 and 37.)
func CopyLoop(bytes int64, ranks int) func(dst, src []byte) {
	all := bytes * int64(ranks)
	switch {
	case bytes < nearBytes:
		return Copy
	case bytes <= topo.L2()/2:
		return near()
	case all <= topo.L3()/2, all <= topo.L3() && topo.AMD():
		return middle() // Zen 5, all-to-all of 4 MiB: 268 µs by Go's copy, 218 by rep movsb
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

// first is the loop for what fits a cache of the first level, near for what fits the
// own and not that, middle for what fits the shared one and not the own. Alone, one rank
// may find "rep movsb" no faster in the middle, where two at once do: there, on AMD's
// processors, it need not be.
//
// In the first level registers of 64 bytes take two thirds of the time of Go's copy,
// which uses 32 (Zen 5, ns: 4 KiB 30 and 20, 8 KiB 56 and 38, 16 KiB 112 and 73).
var (
	first = sync.OnceValue(func() func(dst, src []byte) {
		whole := func(dst, src []byte) { copy(dst, src) }
		return fastest(leastCopy, whole, "avx512", clearly)
	})
	near   = sync.OnceValue(func() func(dst, src []byte) { return whereApart(fastest(64<<10, Copy, "rep movsb", clearly)) })
	middle = sync.OnceValue(func() func(dst, src []byte) {
		byRep := clearly
		if topo.AMD() {
			byRep = 1 / clearly
		}
		return whereApart(fastest(2<<20, Copy, "rep movsb", byRep))
	})
)

// clearly is what a loop takes of another one's time if it is clearly faster.
const clearly = 0.95

// fastest is the loop for copies of so many bytes: Go's, unless the named one takes less
// than most of its time, or AVX2 is clearly faster than either. It takes a few hundred
// µs to find out, of 2 MiB some milliseconds.
//
// Many copies go before those that count: on Zen 5 the vector loops take 0.57 µs for
// the first fifty copies of 64 KiB, as "rep movsb" does, and 0.73 from then on.
func fastest(size int, goes func(dst, src []byte), name string, most float64) func(dst, src []byte) {
	atMost := map[string]float64{"avx2": clearly, name: most}
	loops := slices.DeleteFunc(line.CopyLoops(), func(l line.CopyLoop) bool { return atMost[l.Name] == 0 || l.Slows })
	if len(loops) == 0 {
		return goes
	}
	dst, src := make([]byte, size), make([]byte, size)
	line.Fill(src, 1)
	for range (16 << 20) / size {
		goes(dst, src)
	}
	best, least := goes, usual(goes, dst, src)
	for _, l := range loops {
		if took := usual(l.Copy, dst, src); float64(took) < atMost[l.Name]*float64(least) {
			best, least = l.Copy, min(least, took)
		}
	}
	return best
}

// usual is how long a copy takes that nothing disturbs: what a quarter of some stay
// below; of short ones, so many at a time that the clock can tell. (Of 2 MiB by "rep
// movsb" the first few take twice as long behind another loop.)
func usual(f func(dst, src []byte), dst, src []byte) time.Duration {
	times := max((64<<10)/len(src), 1)
	took := make([]time.Duration, 12+(1<<20)/(len(src)*times))
	for i := range took {
		start := time.Now()
		for range times {
			f(dst, src)
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[len(took)/4]
}

// whereApart uses f where the memory does not overlap, and for copies that are
// long enough for it.
func whereApart(f func(dst, src []byte)) func(dst, src []byte) {
	return func(dst, src []byte) {
		if len(src) < leastCopy || Overlap(dst[:len(src)], src) {
			Copy(dst, src)
			return
		}
		f(dst, src)
	}
}

// put copies what one Put or Get moves.
func put(dst, src []byte) {
	if len(src) <= nearPut {
		Copy(dst, src)
		return
	}
	CopyLoop(2*int64(len(src)), 2)(dst, src)
}

// nearPut is what needs no thought. (By near, half a round trip of PutSignal on Zen 5:
// 32 KiB 0.42 to 0.27 µs, and where the program writes and reads it too, 1.55 to 1.14;
// 64 KiB 0.79 to 0.63 and 3.3 to 2.0.)
const nearPut = nearBytes/2 - 1
