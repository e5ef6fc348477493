//go:build amd64 && !noasm && !race

package line

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The leaves move n bytes, a positive multiple of copyStep; those that stream
// (past the caches) want dst aligned to a cache line, and end with a fence.
//
//go:noescape
func copyAVX2(dst, src *byte, n int)

//go:noescape
func streamAVX2(dst, src *byte, n int)

//go:noescape
func copyAVX512(dst, src *byte, n int)

//go:noescape
func streamAVX512(dst, src *byte, n int)

//go:noescape
func copyRep(dst, src *byte, n int)

//go:noescape
func readAVX2(src *byte, n int) uint64

//go:noescape
func fillAVX2(dst *byte, n int, word uint64)

const (
	copyStep  = 256
	lineBytes = 64
)

// haveAVX512 asks for the foundation alone: loads and stores of 64 bytes.
var haveAVX2, haveAVX512 = cpu.X86.HasAVX2, cpu.X86.HasAVX512F

func leaves() []CopyLoop {
	list := []CopyLoop{{"rep movsb", byLeaf(copyRep)}}
	if haveAVX2 {
		list = append(list, CopyLoop{"avx2", byLeaf(copyAVX2)}, CopyLoop{"avx2 streaming", byLeaf(streamAVX2)})
	}
	if haveAVX512 {
		list = append(list, CopyLoop{"avx512", byLeaf(copyAVX512)}, CopyLoop{"avx512 streaming", byLeaf(streamAVX512)})
	}
	return list
}

// byLeaf gives the leaf what it can do: whole steps, from where dst begins a line.
func byLeaf(leaf func(dst, src *byte, n int)) func(dst, src []byte) {
	piece := func(dst, src []byte) {
		if n := len(src) &^ (copyStep - 1); n > 0 {
			leaf(&dst[0], &src[0], n)
			dst, src = dst[n:], src[n:]
		}
		copy(dst, src)
	}
	return func(dst, src []byte) {
		n := len(src)
		if n == 0 {
			return
		}
		off := int(-uintptr(unsafe.Pointer(&dst[0])) & (lineBytes - 1))
		if off == 0 && n <= copyPiece && n&(copyStep-1) == 0 && len(dst) >= n {
			leaf(&dst[0], &src[0], n)
			return
		}
		head := min(n, off)
		copy(dst[:head], src)
		inPieces(dst[head:], src[head:], piece)
	}
}

func read(b []byte) (sum uint64) {
	if n := len(b) &^ (copyStep - 1); haveAVX2 && n > 0 {
		sum = readAVX2(&b[0], n)
		b = b[n:]
	}
	return sum ^ readWords(b)
}

func fill(b []byte, word uint64) {
	if n := len(b) &^ (copyStep - 1); haveAVX2 && n > 0 {
		fillAVX2(&b[0], n, word)
		b = b[n:]
	}
	fillWords(b, word)
}
