//go:build !amd64 || noasm || race

package reduce

// fold reduces parts, two or more, into dst.
func fold(kind Kind, op Op, dst []byte, parts [][]byte) { foldInGo(kind, op, dst, parts) }
