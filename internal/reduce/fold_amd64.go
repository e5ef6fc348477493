//go:build amd64 && !noasm && !race

package reduce

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

const (
	// vectorBytes is the least a leaf takes.
	vectorBytes = 32

	// readBytes is how much, of all parts together, one call of a leaf reads:
	// code in assembly cannot be preempted, and whoever stops the world waits for
	// it. 256 KiB take at most 50 µs from memory.
	readBytes = 256 << 10
)

var hasLeaves = cpu.X86.HasAVX2

// leaf reduces the bytes from … to of the n parts whose slice headers begin at
// parts into dst. place is 16·op + kind; n ≥ 2, to - from ≥ vectorBytes. Being
// no func value, it lets the caller's parts stay on the stack.
//
//go:noescape
func leaf(place int, dst unsafe.Pointer, parts *[]byte, n, from, to int)

// pieceOf is how much of dst one call of a leaf does: whole blocks.
func pieceOf(parts int) int { return max(readBytes/parts&^255, 256) }

// fold reduces parts, two or more, into dst.
func fold(kind Kind, op Op, dst []byte, parts [][]byte) {
	if !hasLeaves || len(dst) < vectorBytes {
		foldInGo(kind, op, dst, parts)
		return
	}
	place := int(op)<<4 | int(kind)
	step := pieceOf(len(parts))
	for from := 0; from < len(dst); {
		to := from + step
		if to > len(dst)-vectorBytes {
			to = len(dst) // what is left is a piece of its own or none
		}
		leaf(place, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.SliceData(parts), len(parts), from, to)
		from = to
	}
}
