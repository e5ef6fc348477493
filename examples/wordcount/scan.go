package main

import (
	"encoding/binary"
	"math/bits"
)

// A word is a run of ASCII letters and digits, counted in lower case. Every
// other byte separates.
//
// The lower case of such a byte is the byte with this bit set: digits have it
// already.
const caseBit = 0x20

// slack is how far behind its text scan may load, never to use what it finds.
const slack = 64 + short

const each = 0x0101010101010101 // the multiplier that puts a byte into all eight

// letters8 says which of eight bytes belong to words, bit i for byte i. It
// compares by adding to seven-bit bytes and looking at the eighth: the first
// sum of each pair carries from the range's first byte on, the second from the
// one behind its last.
func letters8(x uint64) uint64 {
	low := x & (0x7f * each)
	letter := low | caseBit*each
	letters := (letter + (0x80-'a')*each) ^ (letter + (0x7f-'z')*each)
	digits := (low + (0x80-'0')*each) ^ (low + (0x7f-'9')*each)
	in := (letters | digits) &^ x & (0x80 * each)
	return ((in >> 7) * 0x0102040810204080) >> 56 // gathers the eight bits in the top byte
}

func letters64(b *[64]byte) uint64 {
	return letters8(binary.LittleEndian.Uint64(b[0:])) |
		letters8(binary.LittleEndian.Uint64(b[8:]))<<8 |
		letters8(binary.LittleEndian.Uint64(b[16:]))<<16 |
		letters8(binary.LittleEndian.Uint64(b[24:]))<<24 |
		letters8(binary.LittleEndian.Uint64(b[32:]))<<32 |
		letters8(binary.LittleEndian.Uint64(b[40:]))<<40 |
		letters8(binary.LittleEndian.Uint64(b[48:]))<<48 |
		letters8(binary.LittleEndian.Uint64(b[56:]))<<56
}

func isLetter(c byte) bool {
	l := c | caseBit
	return 'a' <= l && l <= 'z' || '0' <= c && c <= '9'
}

// A scanner cuts text into words and counts them in a table.
//
// It works in two short loops. The first turns 64 bytes at a time into a bit
// set and writes down where words begin and end: one branch for 64 bytes that
// a CPU cannot foresee, instead of two for every word. The second makes a
// table's key of each word.
type scanner struct {
	words *table
	edges [1024 + 64 + 2]int // begin, end, begin, end … of words, ascending
}

// scan counts the words of text. cap(text) must exceed len(text) by slack.
func (s *scanner) scan(text []byte) {
	n, before := 0, uint64(0) // edges noted; 1 while the byte before is inside a word
	for at := 0; at < len(text); at += 64 {
		in := letters64((*[64]byte)(text[at : at+64]))
		if rest := len(text) - at; rest < 64 {
			in &= 1<<rest - 1
		}
		for e := in ^ (in<<1 | before); e != 0; e &= e - 1 {
			s.edges[n] = at + bits.TrailingZeros64(e)
			n++
		}
		before = in >> 63
		if n > 1024 {
			s.count(text, s.edges[:n&^1])
			s.edges[0] = s.edges[n-1] // the begin of a word not yet ended, if n is odd
			n &= 1
		}
	}
	if n&1 == 1 {
		s.edges[n] = len(text)
		n++
	}
	s.count(text, s.edges[:n])
}

func (s *scanner) count(text []byte, edges []int) {
	t := s.words
	for ; len(edges) >= 2; edges = edges[2:] {
		begin, end := edges[0], edges[1]
		size := end - begin
		if size > short {
			t.addLong(text[begin:end], 1)
			continue
		}
		k0, k1 := keyOf((*[short]byte)(text[begin:begin+short]), size)
		h := fold(k0, k1)
		if e := &t.slots[int(h>>(t.shift&63))&(len(t.slots)-1)]; e.k0 == k0 && e.k1 == k1 {
			e.n++ // at home: 97 of 100 words
		} else {
			t.add(k0, k1, h, 1)
		}
	}
}
