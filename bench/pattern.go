package bench

import "encoding/binary"

// stream names the data that one rank sends another in one round. No two
// streams of a row have a word in common at one place, so bytes that come from
// another rank, another round or another place are found.
type stream struct {
	round    uint64
	from, to int
}

// word is the stream's i-th 8 bytes: splitmix64's output function over a counter
// of which each stream has its own part.
func (s stream) word(i int) uint64 {
	x := s.round*0x9e3779b97f4a7c15 + uint64(s.from)<<52 + uint64(s.to)<<40 + uint64(i)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fill writes the stream into b.
func (s stream) fill(b []byte) {
	i := 0
	for ; len(b) >= 8; i, b = i+1, b[8:] {
		binary.LittleEndian.PutUint64(b, s.word(i))
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], s.word(i))
	copy(b, last[:])
}

// wrong counts the bytes of b that are not the stream's.
func (s stream) wrong(b []byte) int {
	n, i := 0, 0
	for ; len(b) >= 8; i, b = i+1, b[8:] {
		if got, want := binary.LittleEndian.Uint64(b), s.word(i); got != want {
			n += differing(got ^ want)
		}
	}
	if len(b) > 0 {
		var last [8]byte
		copy(last[:], b)
		mask := uint64(1)<<(8*len(b)) - 1
		n += differing((binary.LittleEndian.Uint64(last[:]) ^ s.word(i)) & mask)
	}
	return n
}

// differing counts the bytes of x that are not zero.
func differing(x uint64) int {
	n := 0
	for ; x != 0; x >>= 8 {
		if x&0xff != 0 {
			n++
		}
	}
	return n
}
