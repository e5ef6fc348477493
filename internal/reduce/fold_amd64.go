//go:build amd64 && !noasm && !race

package reduce

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var (
	hasAVX2   = cpu.X86.HasAVX2
	hasAVX512 = cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ
	hasMasks  = cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW && cpu.X86.HasBMI2
)

// Rows of the leaves' table that follow those of the operations: Min and Max with
// AVX-512 on vectors of 32 bytes.
const (
	minVL = Xor + 1 + iota
	maxVL
)

const (
	// vectorBytes is the least a leaf takes without masks.
	vectorBytes = 32

	// readBytes is how much, of all parts together, one call of a leaf reads:
	// code in assembly cannot be preempted, and whoever stops the world waits for
	// it. 256 KiB take at most 50 µs from memory.
	readBytes = 256 << 10
)

// pieceOf is how much of dst one call of a leaf does: whole blocks of 256 bytes.
func pieceOf(parts int) int { return max(readBytes/parts&^255, 256) }

// leaf reduces the bytes from … to of the n parts whose slice headers begin at
// parts into dst. place is 16·row + kind; n ≥ 2, and to - from ≥ vectorBytes, or less
// from 0 where there are masks. Being no func value, it lets its caller's variables stay on the stack.
//
//go:noescape
func leaf(place int, dst unsafe.Pointer, parts *[]byte, n, from, to int)

// fold reduces parts, two or more, into dst.
func fold(kind Kind, op Op, dst []byte, parts [][]byte) {
	if !hasAVX2 {
		foldInGo(kind, op, dst, parts)
		return
	}
	row := op
	switch {
	case hasAVX512 && op == Min:
		row = minVL
	case hasAVX512 && op == Max:
		row = maxVL
	}
	place := int(row)<<4 | int(kind)
	if len(dst) < vectorBytes && !hasMasks {
		foldShort(place, dst, parts)
		return
	}
	step := pieceOf(len(parts))
	for from := 0; from < len(dst); {
		to := from + step
		if to > len(dst)-vectorBytes {
			to = len(dst) // a leaf does no less than a vector
		}
		leaf(place, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.SliceData(parts), len(parts), from, to)
		from = to
	}
}

// foldShort is fold for less than a vector where there are no masks: in one, filled
// up with zeros.
func foldShort(place int, dst []byte, parts [][]byte) {
	var acc, part [vectorBytes]byte
	pair := [2][]byte{acc[:], part[:]}
	copy(acc[:], parts[0])
	for _, p := range parts[1:] {
		copy(part[:], p)
		leaf(place, unsafe.Pointer(&acc), &pair[0], len(pair), 0, vectorBytes)
	}
	copy(dst, acc[:])
}
