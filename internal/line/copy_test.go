package line

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// copyLengths are around every step and piece of the loops.
var copyLengths = []int{0, 1, 7, 8, 9, 63, 64, 255, 256, 257, 319, 320, 512, 1023, 1024, 1087, 2048, 4095, 4096, 4097, 70001, copyPiece, copyPiece + 1, 3*copyPiece + 777}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(b)
	return b
}

// Whatever length and alignment, a loop copies all and nothing else.
func TestCopyLoops(t *testing.T) {
	for _, loop := range CopyLoops() {
		for _, n := range copyLengths {
			for _, off := range []int{0, 1, 33, 63} {
				src, dst := noise(n+off+64), noise(n+off+128)
				want := bytes.Clone(dst)
				copy(want[off:], src[off/2:][:n])
				loop.Copy(dst[off:], src[off/2:][:n])
				require.True(t, bytes.Equal(want, dst), "%s: %d bytes to offset %d", loop.Name, n, off)
			}
		}
	}
}

// Whatever length and alignment, Wide copies all and nothing else.
func TestWide(t *testing.T) {
	for _, n := range []int{0, 1, 1023, 1024, 1025, 2048, 3000, 4095} {
		for _, off := range []int{0, 1, 32} { // of dst in its line: noise of a page and more begins one
			src, dst := noise(n+64), noise(8<<10)
			want := bytes.Clone(dst)
			copy(want[off:], src[off/2:][:n])
			Wide(dst[off:], src[off/2:][:n])
			require.True(t, bytes.Equal(want, dst), "%d bytes to offset %d", n, off)
		}
	}
}

func TestCopiesManyTimesOver(t *testing.T) {
	for _, loop := range CopyLoops() {
		for _, n := range []int{0, 100, 1024, 4096, 200 << 10} {
			for _, times := range []int{1, 2, 300} {
				src, dst := noise(n), noise(n+128)
				want := bytes.Clone(dst)
				copy(want, src)
				loop.Times(dst, src, times)
				require.True(t, bytes.Equal(want, dst), "%s: %d bytes, %d times", loop.Name, n, times)
			}
		}
	}
}

func TestReadAndFillTouchEveryByte(t *testing.T) {
	for _, n := range copyLengths {
		for _, off := range []int{0, 5} {
			b := noise(n + off + 8)
			before, behind := bytes.Clone(b[:off]), bytes.Clone(b[off+n:])
			p := b[off:][:n]
			sum := Read(p)
			require.Equal(t, readWords(p), sum, "%d bytes", n)
			for _, i := range []int{0, n / 2, n - 1} {
				if i >= 0 && i < n {
					p[i] ^= 4
					require.NotEqual(t, sum, Read(p), "byte %d of %d", i, n)
					p[i] ^= 4
				}
			}
			const word = 0x0123456789abcdef
			Fill(p, word)
			var w [8]byte
			binary.LittleEndian.PutUint64(w[:], word)
			require.True(t, bytes.Equal(bytes.Repeat(w[:], n/8+1)[:n], p), "%d bytes", n)
			require.Equal(t, before, b[:off])
			require.Equal(t, behind, b[off+n:])
		}
	}
}
