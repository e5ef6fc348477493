package window

import (
	"encoding/binary"
	"hash/fnv"
)

// digest condenses what ranks must agree on into the word of a call record. It
// is the same in every process, so it is no hash of package maphash.
func digest(text string, numbers ...int64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	for _, n := range numbers {
		_ = binary.Write(h, binary.LittleEndian, n)
	}
	return h.Sum64()
}
