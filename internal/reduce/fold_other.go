//go:build !amd64 || noasm || race

package reduce

// fold reduces parts, two or more, into dst.
func fold(kind Kind, op Op, dst []byte, parts [][]byte) { foldInGo(kind, op, dst, parts) }

// pieceOf is how much of dst is done without looking up.
func pieceOf(int) int { return blockBytes }
