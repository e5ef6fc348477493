package main

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
)

// A table counts words. It is Go's map for one purpose. With the scanner in front
// of it, it takes less than half the time of a byte-wise loop and Go's map: 0.60 s
// to 1.42 s for GOROOT/src, on a machine busy with other work. BenchmarkScan and
// BenchmarkScanMap repeat it.
//
// Words of up to 16 bytes live inside their entry; longer ones, 1.4 % of the
// words of GOROOT/src, in an arena. Entries lie in the order of their hash, up
// to collisions. A stream of words written in that order by one table is
// therefore read in the same order by another, which touches its memory once
// from front to back; reserve says what has to be known for that beforehand.
//
// The hash has no seed, so that all processes agree on the owner of a word.
type table struct {
	slots []entry // a power of two of them
	shift uint    // 64 - log2(len(slots)): an entry's home is hash >> shift
	used  int     // so many are taken,
	limit int     // at most five eighths of them, but for reserve
	arena []byte  // the long words, each behind its length in 8 bytes
	low   []byte  // the long word at hand in lower case
	spelt [short]byte
}

// An entry is empty while n is zero. A short word is k0 and k1 themselves, its
// bytes little-endian, zero behind the last. A long word has in k1 the long
// bit, which no short word can have since all its bytes are ASCII, and 63 bits
// of its hash; k0 is its place in the arena.
type entry struct {
	k0, k1 uint64
	n      uint64
}

const (
	short   = 16
	longBit = 1 << 63
)

func newTable() *table {
	t := &table{}
	t.resize(1 << 12)
	return t
}

// fold multiplies to 128 bits and folds them. Both constants have bytes above
// 0x7f, so no short word makes a factor zero.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xa0761d6478bd642f)
	return hi ^ lo
}

func (e *entry) hash() uint64 {
	if e.k1&longBit != 0 {
		return fold(0, e.k1)
	}
	return fold(e.k0, e.k1)
}

// owner is the rank of n that sums up this word. It uses the hash's low half,
// the place in the table its high bits, so that the words of one owner are
// spread over the whole table.
func (e *entry) owner(n int) int {
	return int(uint64(uint32(e.hash())) * uint64(n) >> 32)
}

// add counts a short word n times, n > 0. h is fold(k0, k1).
func (t *table) add(k0, k1, h, n uint64) {
	for i := h >> (t.shift & 63); ; i++ {
		e := &t.slots[int(i)&(len(t.slots)-1)]
		if e.k0 == k0 && e.k1 == k1 {
			e.n += n
			return
		}
		if e.n == 0 {
			*e = entry{k0, k1, n}
			t.taken()
			return
		}
	}
}

// addLong counts a word of more than 16 letters and digits in either case.
func (t *table) addLong(word []byte, n uint64) {
	t.low = append(t.low[:0], word...)
	h := uint64(len(word))
	for p := t.low; len(p) > 0; {
		var k [short]byte
		for i := range p[:min(short, len(p))] {
			p[i] |= caseBit
		}
		p = p[copy(k[:], p):]
		h = fold(h^binary.LittleEndian.Uint64(k[:]), binary.LittleEndian.Uint64(k[8:]))
	}
	k1 := h | longBit
	for i := fold(0, k1) >> (t.shift & 63); ; i++ {
		e := &t.slots[int(i)&(len(t.slots)-1)]
		if e.n == 0 {
			*e = entry{uint64(len(t.arena)), k1, n}
			t.arena = binary.LittleEndian.AppendUint64(t.arena, uint64(len(word)))
			t.arena = append(t.arena, t.low...)
			t.taken()
			return
		}
		if e.k1 == k1 && bytes.Equal(t.word(e), t.low) {
			e.n += n
			return
		}
	}
}

// keyOf makes the key of the first size bytes of b, 1 to 16 letters and digits.
func keyOf(b *[short]byte, size int) (k0, k1 uint64) {
	first := min(size, 8)
	k0 = (binary.LittleEndian.Uint64(b[:8]) | caseBit*each) & (^uint64(0) >> uint(64-8*first))
	k1 = (binary.LittleEndian.Uint64(b[8:]) | caseBit*each) & (^uint64(0) >> uint(64-8*(size-first)))
	return k0, k1
}

// addWord counts a word of any length n times.
func (t *table) addWord(word []byte, n uint64) {
	if len(word) > short {
		t.addLong(word, n)
		return
	}
	var b [short]byte
	if cap(word) >= short {
		b = [short]byte(word[:short]) // cheaper than a copy of unforeseeable length
	} else {
		copy(b[:], word)
	}
	k0, k1 := keyOf(&b, len(word))
	t.add(k0, k1, fold(k0, k1), n)
}

// word is the entry's word, good until the next call; its capacity is 16 or more.
func (t *table) word(e *entry) []byte {
	if e.k1&longBit != 0 {
		size := binary.LittleEndian.Uint64(t.arena[e.k0:])
		return t.arena[e.k0+8:][:size]
	}
	binary.LittleEndian.PutUint64(t.spelt[:], e.k0)
	binary.LittleEndian.PutUint64(t.spelt[8:], e.k1)
	size := short - bits.LeadingZeros64(e.k1)/8
	if e.k1 == 0 {
		size = short/2 - bits.LeadingZeros64(e.k0)/8
	}
	return t.spelt[:size]
}

// entries yields what was counted, in the order of the table.
func (t *table) entries() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for i := range t.slots {
			if e := &t.slots[i]; e.n != 0 && !yield(e) {
				return
			}
		}
	}
}

// reserve makes room for up to so many more words. Without it, words that come
// in the order of the table would crowd at its front while it is still small.
// With it they may fill seven eighths: nobody will look for them again.
func (t *table) reserve(words int) {
	n, need := len(t.slots), t.used+words
	for need > n/8*7 {
		n *= 2
	}
	if n > len(t.slots) {
		t.resize(n)
	}
	t.limit = max(t.limit, need)
}

func (t *table) taken() {
	if t.used++; t.used > t.limit {
		t.resize(2 * len(t.slots))
	}
}

func (t *table) resize(n int) {
	old := t.slots
	t.slots, t.limit, t.shift = newSlots(n), n/8*5, uint(bits.LeadingZeros64(uint64(n)))+1
	for i := range old {
		if old[i].n == 0 {
			continue
		}
		to := old[i].hash() >> (t.shift & 63)
		for t.slots[int(to)&(n-1)].n != 0 {
			to++
		}
		t.slots[int(to)&(n-1)] = old[i]
	}
}
