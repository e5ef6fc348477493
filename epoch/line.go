package epoch

// LineSize is the size of a Line in bytes; a line is aligned to its size.
const LineSize = 16

// Line is the unit of LL-A2A: 8 bytes of data, and the tag of their epoch twice,
// once in each 8-byte half. A half is stored and loaded whole by every machine
// that Go runs 64-bit code on, so it is either old or new and its own tag says
// which: no order between the halves, and no order between lines, is needed.
// The fields are in memory order. It is NCCL's LL line.
type Line struct {
	DataLo, Tag0 uint32
	DataHi, Tag1 uint32
}

// Pack makes the line that carries data in the epoch with this tag.
func Pack(data uint64, tag uint32) Line {
	return Line{DataLo: uint32(data), Tag0: tag, DataHi: uint32(data >> 32), Tag1: tag}
}

// Match tells whether both halves were written in the epoch with this tag. A
// line with one half old and one new matches neither epoch.
func (l Line) Match(tag uint32) bool { return l.Tag0 == tag && l.Tag1 == tag }

// Unpack returns the data of a line and whether it is that of the epoch with
// this tag. If it is not, the data are 0: a line on its way tells nothing.
func (l Line) Unpack(tag uint32) (data uint64, ok bool) {
	if !l.Match(tag) {
		return 0, false
	}
	return uint64(l.DataHi)<<32 | uint64(l.DataLo), true
}

// Halves returns the two words that are stored at bytes 0 and 8 of the line,
// each in one 8-byte store and in any order: the data in the low 32 bits, the
// tag in the high ones. As little-endian words they are the Line's own memory,
// which is what lets vector code store a Line in one piece.
func (l Line) Halves() (lo, hi uint64) {
	return uint64(l.DataLo) | uint64(l.Tag0)<<32, uint64(l.DataHi) | uint64(l.Tag1)<<32
}

// FromHalves is the line of which these two words were loaded, each in one
// 8-byte load. It is the inverse of Halves.
func FromHalves(lo, hi uint64) Line {
	return Line{DataLo: uint32(lo), Tag0: uint32(lo >> 32), DataHi: uint32(hi), Tag1: uint32(hi >> 32)}
}
