package peers

import "encoding/binary"

// stream names the data that one rank sends another: all of it changes with the
// turn, and no two streams of a turn have a word in common at one place. quick is
// data that is made inside the clock, as fast as memory takes it.
type stream struct {
	turn           uint64
	from, to, slot int
	quick          bool
}

func (s stream) seed() uint64 {
	return s.turn*0x9e3779b97f4a7c15 + uint64(s.from)<<52 + uint64(s.to)<<40 + uint64(s.slot)<<33
}

// word is the stream's word that seed+i belongs to.
func (s stream) word(x uint64) uint64 {
	if s.quick {
		return x
	}
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fill writes the stream into b.
func (s stream) fill(b []byte) {
	x := s.seed()
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, s.word(x))
		x++
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], s.word(x))
	copy(b, last[:])
}

// wrong counts the bytes of b that are not the stream's.
func (s stream) wrong(b []byte) (n int) {
	x := s.seed()
	for len(b) > 0 {
		var want [8]byte
		binary.LittleEndian.PutUint64(want[:], s.word(x))
		part := b[:min(8, len(b))]
		for i := range part {
			if part[i] != want[i] {
				n++
			}
		}
		b = b[len(part):]
		x++
	}
	return n
}
