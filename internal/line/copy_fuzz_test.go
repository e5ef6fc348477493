package line

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzLeaves holds every leaf against its plain twin, at any length and alignment:
// the same bytes arrive, none beside them is touched, and the same number is read.
func FuzzLeaves(f *testing.F) {
	for _, n := range []int{0, 1, 63, 1024, 4097} {
		f.Add(noise(n), uint8(n), uint8(7), uint8(3), uint64(n))
	}
	f.Fuzz(func(t *testing.T, data []byte, ahead, to, times uint8, word uint64) {
		// Long enough for the loops, whatever the fuzzer finds short.
		src := append(make([]byte, ahead%64), bytes.Repeat(data, 1+int(times)%8)...)[ahead%64:]
		off := int(to) % 64
		before := noise(off + len(src) + 64)

		copied := bytes.Clone(before)
		copy(copied[off:], src)
		for _, loop := range CopyLoops() {
			for _, do := range []func(dst, src []byte){loop.Copy, func(dst, src []byte) { loop.Times(dst, src, 1+int(times)%4) }} {
				dst := bytes.Clone(before)
				do(dst[off:], src)
				require.True(t, bytes.Equal(copied, dst), "%s: %d bytes to offset %d", loop.Name, len(src), off)
			}
		}

		require.Equal(t, readWords(src), Read(src))
		filled, dst := bytes.Clone(before), bytes.Clone(before)
		fillWords(filled[off:][:len(src)], word)
		Fill(dst[off:][:len(src)], word)
		require.True(t, bytes.Equal(filled, dst), "%d bytes of %x at offset %d", len(src), word, off)
	})
}
