//go:build !amd64 || noasm || race

package line

func leaves() []CopyLoop { return nil }

func ByRep(dst, src []byte) { pieces(dst, src) }

func Wide(dst, src []byte) { copy(dst, src) }

func read(b []byte) uint64 { return readWords(b) }

func fill(b []byte, word uint64) { fillWords(b, word) }

func atOnce(dst, src []byte) bool { return false }

func again(leaf func(dst, src *byte, n, times int), dst, src []byte, times int) {}
