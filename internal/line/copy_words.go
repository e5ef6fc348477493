package line

import "encoding/binary"

// readWords and fillWords are Read and Fill word by word: the leaves' twins, and
// what does the rests that leaves leave.
func readWords(b []byte) (sum uint64) {
	for len(b) >= 8 {
		sum ^= binary.LittleEndian.Uint64(b)
		b = b[8:]
	}
	var last [8]byte
	copy(last[:], b)
	return sum ^ binary.LittleEndian.Uint64(last[:])
}

func fillWords(b []byte, word uint64) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, word)
		b = b[8:]
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], word)
	copy(b, last[:])
}
