package window

import (
	"slices"
	"sync"
	"time"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/internal/topo"
)

// Copy copies src to the beginning of dst, which is at least as long, as suits what goes
// from one rank to another and fits the caches of both: what takes time is the lines' way
// between the two. It copies overlapping memory right, as copy does.
func Copy(dst, src []byte) {
	if len(src) < wholeLines {
		copy(dst, src)
	} else {
		copyLong(dst, src)
	}
}

// copyLong calls by name what copies: neither dst nor src escapes to the heap.
func copyLong(dst, src []byte) {
	if topo.AMD() < topo.Zen5 || Overlap(dst[:len(src)], src) {
		pieces(dst, src)
	} else {
		line.ByRep(dst, src)
	}
}

// wholeLines is from where on it pays to take lines from another processor without what
// is in them, as "rep movsb" can, which takes 20 ns to get going. How much, depends on
// where they are: if the receiver does not read what it receives, they have never left
// the sender. Zen 5, ns, Go's copy and "rep movsb", near, where the program leaves the
// data alone, where it reads it, and where it writes it, too:
//
//	put of 4 KiB                        90 and 101   232 and 233   250 and 214
//	       8 KiB                       114 and 119   435 and 277   499 and 312
//	       16 KiB                      162 and 157   721 and 446   829 and 530
//	broadcast of 4 KiB in lines        145 and 210                 167 and 237
//	             8 KiB                 303 and 203   325 and 258   341 and 262
//
// Far, a broadcast of 8 KiB in lines takes 1400 and 560, of 32 KiB 4760 and 1330.
// (Registers of 64 bytes are faster where the data is left alone, put of 8 KiB 103, and
// slower than Go's copy where it is not, put of 8 KiB that is read 468.) On
// other processors it has not been measured between two of them.
const wholeLines = 5 << 10

// nearBytes is how many bytes an operation touches from which on it counts which cache
// they fit.
const nearBytes = 64 << 10

// pieces copies by Go's copy, in pieces if the memory does not overlap.
func pieces(dst, src []byte) {
	for len(src) > pieceBytes && !Overlap(dst[:len(src)], src) {
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
// and destinations, while so many ranks in all do the same. It copies overlapping
// memory right, as copy does.
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
	case all <= topo.L3()/2, all <= topo.L3() && topo.AMD() > 0:
		return middle() // Zen 5, all-to-all of 4 MiB: 268 µs by Go's copy, 218 by rep movsb
	case all <= topo.L3():
		return pieces
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
	return pieces
})

// near is the loop for what fits the own cache, middle for what fits the shared one and
// not that. Alone, one rank may find "rep movsb" no faster in the middle, where two at
// once do: there, on AMD's processors, it need not be.
//
// On Zen 5 it is taken unseen, as by Copy: what it gains is on the way between processors,
// which one rank cannot measure, and alone, one in five found it no faster than Go's copy.
var (
	near = sync.OnceValue(func() func(dst, src []byte) {
		if topo.AMD() >= topo.Zen5 {
			return whereApart(line.ByRep)
		}
		return fastest(64<<10, clearly)
	})
	middle = sync.OnceValue(func() func(dst, src []byte) {
		switch amd := topo.AMD(); {
		case amd >= topo.Zen5:
			return Copy
		case amd > 0:
			return fastest(2<<20, 1/clearly)
		}
		return fastest(2<<20, clearly)
	})
)

// clearly is what a loop takes of another one's time if it is clearly faster.
const clearly = 0.95

// fastest is the loop for copies of so many bytes: Go's, unless "rep movsb" takes less
// than byRep of its time, or AVX2 is clearly faster than either. It takes a few hundred
// µs to find out, of 2 MiB some milliseconds.
//
// Many copies go before those that count: on Zen 5 the vector loops take 0.57 µs for
// the first fifty copies of 64 KiB, as "rep movsb" does, and 0.73 from then on.
func fastest(size int, byRep float64) func(dst, src []byte) {
	most := map[string]float64{"rep movsb": byRep, "avx2": clearly}
	loops := slices.DeleteFunc(line.CopyLoops(), func(l line.CopyLoop) bool { return most[l.Name] == 0 })
	if len(loops) == 0 {
		return pieces
	}
	dst, src := make([]byte, size), make([]byte, size)
	line.Fill(src, 1)
	for range (16 << 20) / size {
		pieces(dst, src)
	}
	best, least := pieces, usual(pieces, dst, src)
	for _, l := range loops {
		if took := usual(l.Copy, dst, src); float64(took) < most[l.Name]*float64(least) {
			best, least = whereApart(l.Copy), min(least, took)
		}
	}
	return best
}

// usual is how long a copy takes that nothing disturbs: what a quarter of some stay
// below. (Of 2 MiB by "rep movsb" the first few take twice as long behind another loop.)
func usual(f func(dst, src []byte), dst, src []byte) time.Duration {
	took := make([]time.Duration, 12+(1<<20)/len(src))
	for i := range took {
		start := time.Now()
		f(dst, src)
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[len(took)/4]
}

// whereApart uses f where the memory does not overlap, and for copies that are
// long enough for it.
func whereApart(f func(dst, src []byte)) func(dst, src []byte) {
	return func(dst, src []byte) {
		if len(src) < wholeLines || Overlap(dst[:len(src)], src) {
			copy(dst, src)
			return
		}
		f(dst, src)
	}
}

// put copies what one Put or Get moves.
func put(dst, src []byte) {
	if len(src) < nearBytes/2 {
		Copy(dst, src)
		return
	}
	CopyLoop(2*int64(len(src)), 2)(dst, src)
}

// PutSignal of wideLeast and more but less than wideMost copies whole KiB by registers of
// 64 bytes, if they begin a line, not by Go's of 32 as all that goes in lines does, which
// they make slower. Zen 5, near, ns, Go's and these, where the program leaves the data
// alone, where it reads it, and where it writes it, too:
//
//	put of 1 KiB   52 and 47    97 and 98   106 and 110
//	       2 KiB   69 and 64   151 and 136  166 and 156
//	       3 KiB   76 and 70   198 and 176  216 and 200
//	       4 KiB   85 and 76   230 and 234  252 and 268
//
// A stream of 1 KiB each takes 22 and 24 a message, of 2 KiB 29 and 28. Far, and on other
// processors, it has not been measured.
const (
	wideLeast = 1 << 10
	wideMost  = 4 << 10
)
