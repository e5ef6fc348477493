//go:build amd64 && !noasm && !race

package reduce

// onEachProcessor calls f as on each kind of processor that this one can stand in
// for: the leaves that a newer one would take have to be right too.
func onEachProcessor(f func(name string)) {
	avx2, avx512, masks := hasAVX2, hasAVX512, hasMasks
	defer func() { hasAVX2, hasAVX512, hasMasks = avx2, avx512, masks }()
	if avx512 {
		f("AVX-512")
	}
	hasAVX512, hasMasks = false, false
	if avx2 {
		f("AVX2")
	}
	hasAVX2 = false
	f("no leaves")
}

// turns are the lengths at which fold of n parts goes on to another call of a leaf.
func turns(n int) int { return pieceOf(n) }
