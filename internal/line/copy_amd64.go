//go:build amd64 && !noasm && !race

package line

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The leaves move n bytes, a positive multiple of copyStep, but for copyRep, which takes
// any. Those that stream (past the caches) want dst aligned to a cache line, and end with
// a fence. Those with times, which is positive too, do it so often.
//
//go:noescape
func copyAVX2(dst, src *byte, n, times int)

//go:noescape
func streamAVX2(dst, src *byte, n int)

//go:noescape
func copyAVX512(dst, src *byte, n, times int)

//go:noescape
func streamAVX512(dst, src *byte, n int)

//go:noescape
func copyRep(dst, src *byte, n int)

// These want a multiple of readStep.
//
//go:noescape
func readAVX2(src *byte, n int) uint64

//go:noescape
func fillAVX2(dst *byte, n int, word uint64)

// copyStep: with turns of 256 bytes a copy of 4 KiB took 45 ns, with 1 KiB 41,
// and what a C compiler makes of it 39.
const (
	copyStep  = 1024
	readStep  = 256
	lineBytes = 64
)

// haveAVX512 asks for the foundation alone: loads and stores of 64 bytes.
var haveAVX2, haveAVX512 = cpu.X86.HasAVX2, cpu.X86.HasAVX512F

func leaves() []CopyLoop {
	list := []CopyLoop{{Name: "rep movsb", Copy: ByRep}}
	if haveAVX2 {
		list = append(list, CopyLoop{Name: "avx2", Copy: byAVX2, again: copyAVX2}, CopyLoop{Name: "avx2 streaming", Copy: byAVX2Streaming})
	}
	if haveAVX512 {
		list = append(list, CopyLoop{Name: "avx512", Copy: byAVX512, again: copyAVX512},
			CopyLoop{Name: "avx512 streaming", Copy: byAVX512Streaming})
	}
	return list
}

// The leaves are called by name where one call does all: through a function value
// a copy of 4 KiB took 52 ns instead of 45.

// ByRep copies src to the beginning of dst, which is as long and does not overlap it, by
// "rep movsb", which takes whole lines from other processors without what is in them;
// without assembly, as Go does. It keeps neither.
func ByRep(dst, src []byte) {
	if atOnce(dst, src) {
		copyRep(&dst[0], &src[0], len(src))
		return
	}
	if len(src) == 0 {
		return
	}
	head := min(len(src), ahead(dst))
	copy(dst[:head], src)
	dst, src = dst[head:len(src)], src[head:]
	for len(src) >= lineBytes {
		n := min(len(src), copyPiece) &^ (lineBytes - 1)
		copyRep(&dst[0], &src[0], n)
		dst, src = dst[n:], src[n:]
	}
	copy(dst, src)
}

// Wide copies src to the beginning of dst, which is at least as long and does not overlap
// it, by registers of 64 bytes, but for what is left of whole KiB; where the processor has
// none, or dst begins no line, as Go does. It keeps neither.
func Wide(dst, src []byte) {
	n := len(src) &^ (copyStep - 1)
	if n > 0 && n <= len(dst) && haveAVX512 && ahead(dst) == 0 {
		copyAVX512(&dst[0], &src[0], n, 1)
		dst, src = dst[n:], src[n:]
	}
	copy(dst, src)
}

func byAVX2(dst, src []byte) {
	if atOnce(dst, src) {
		copyAVX2(&dst[0], &src[0], len(src), 1)
	} else {
		byLeaf(func(dst, src *byte, n int) { copyAVX2(dst, src, n, 1) }, dst, src)
	}
}

func byAVX2Streaming(dst, src []byte) {
	if atOnce(dst, src) {
		streamAVX2(&dst[0], &src[0], len(src))
	} else {
		byLeaf(streamAVX2, dst, src)
	}
}

func byAVX512(dst, src []byte) {
	if atOnce(dst, src) {
		copyAVX512(&dst[0], &src[0], len(src), 1)
	} else {
		byLeaf(func(dst, src *byte, n int) { copyAVX512(dst, src, n, 1) }, dst, src)
	}
}

func byAVX512Streaming(dst, src []byte) {
	if atOnce(dst, src) {
		streamAVX512(&dst[0], &src[0], len(src))
	} else {
		byLeaf(streamAVX512, dst, src)
	}
}

// atOnce reports whether a leaf can do all in one call.
func atOnce(dst, src []byte) bool {
	n := uint(len(src))
	return n-1 < copyPiece && n%copyStep == 0 && len(dst) >= len(src) && ahead(dst) == 0
}

// ahead is how many bytes there are before the first line that begins in b, which
// is not empty.
func ahead(b []byte) int { return int(-uintptr(unsafe.Pointer(&b[0])) & (lineBytes - 1)) }

// again has a leaf copy so often, in calls that are soon over.
func again(leaf func(dst, src *byte, n, times int), dst, src []byte, times int) {
	for most := copyPiece / len(src); times > 0; times -= most {
		leaf(&dst[0], &src[0], len(src), min(times, most))
	}
}

// byLeaf gives the leaf what it can do: whole steps, from where dst begins a line.
func byLeaf(leaf func(dst, src *byte, n int), dst, src []byte) {
	if len(src) == 0 {
		return
	}
	head := min(len(src), ahead(dst))
	copy(dst[:head], src)
	inPieces(dst[head:], src[head:], func(dst, src []byte) {
		n := len(src) &^ (copyStep - 1)
		if n > 0 {
			leaf(&dst[0], &src[0], n)
		}
		copy(dst[n:], src[n:])
	})
}

func read(b []byte) (sum uint64) {
	if n := len(b) &^ (readStep - 1); haveAVX2 && n > 0 {
		sum = readAVX2(&b[0], n)
		b = b[n:]
	}
	return sum ^ readWords(b)
}

func fill(b []byte, word uint64) {
	if n := len(b) &^ (readStep - 1); haveAVX2 && n > 0 {
		fillAVX2(&b[0], n, word)
		b = b[n:]
	}
	fillWords(b, word)
}
