package line

// CopyLoop is one way to copy memory. Which is the fastest depends on the size,
// on where the data lies and on the processor; whoever wants to know measures.
type CopyLoop struct {
	Name string
	// Copy copies src to the beginning of dst, which is at least as long and does
	// not overlap it. It may be called concurrently.
	Copy func(dst, src []byte)

	again func(dst, src *byte, n, times int) // nil: there is no such leaf
}

// Times copies src to dst so many times over. It is for measuring: where the loop
// has a leaf for it, many short copies are one call, and what they take is what
// copying takes (4 KiB: 25 ns, of which a call from Go is a fifth).
func (l CopyLoop) Times(dst, src []byte, times int) {
	if l.again != nil && atOnce(dst, src) {
		again(l.again, dst, src, times)
		return
	}
	for range times {
		l.Copy(dst, src)
	}
}

// CopyLoops are the ways to copy that this processor has: Go's copy whole, Go's
// copy in pieces, and the leaves.
func CopyLoops() []CopyLoop {
	return append([]CopyLoop{{Name: "go", Copy: whole}, {Name: "go pieces", Copy: pieces}}, leaves()...)
}

func whole(dst, src []byte) { copy(dst, src) }

// copyPiece is below 1 MiB, where Go's copy turns to streaming stores, and so
// small that a leaf, which cannot be preempted, is soon over.
const copyPiece = 256 << 10

func pieces(dst, src []byte) { inPieces(dst, src, whole) }

func inPieces(dst, src []byte, f func(dst, src []byte)) {
	for len(src) > copyPiece {
		f(dst[:copyPiece], src[:copyPiece])
		dst, src = dst[copyPiece:], src[copyPiece:]
	}
	f(dst, src)
}

// Read reads every byte of b and returns a number that depends on all of them,
// as fast as the processor can: what a program at least does with data that has
// come. Fill writes word over all of b (its first bytes over a rest): what one at
// least does before it sends anew. Both may be called concurrently.
func Read(b []byte) (sum uint64) {
	n := 0
	for ; len(b)-n > copyPiece; n += copyPiece {
		sum ^= read(b[n:][:copyPiece])
	}
	return sum ^ read(b[n:])
}

// Fill is the other half of Read.
func Fill(b []byte, word uint64) {
	for len(b) > copyPiece {
		fill(b[:copyPiece], word)
		b = b[copyPiece:]
	}
	fill(b, word)
}
