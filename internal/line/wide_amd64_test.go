//go:build amd64 && !noasm && !race

package line

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"
)

// Whatever length and alignment, all is copied and nothing else is touched.
func TestWideCopies(t *testing.T) {
	if !cpu.X86.HasAVX512F {
		t.Skip("this processor has no AVX-512")
	}
	lengths := []int{4095, 4096, 4097, 8191, wideMost - 1, wideMost}
	for n := 64; n <= 600; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		for _, off := range []int{0, 1, 31, 32, 63} {
			src, dst := noise(n+off), noise(n+off+64)
			want := bytes.Clone(dst)
			copy(want[off:], src[off/2:][:n])
			copyWide(&dst[off], &src[off/2], n)
			require.True(t, bytes.Equal(want, dst), "%d bytes to offset %d", n, off)
		}
	}
}

// Both answers to the question whether it is faster copy what is to be copied.
func TestCopyEitherWay(t *testing.T) {
	defer wide.Store(wide.Load())
	for _, w := range []uint32{0, wideNoFaster, wideFaster} {
		if w == wideFaster && !cpu.X86.HasAVX512F {
			continue
		}
		wide.Store(w)
		for _, n := range []int{0, 1, wideLeast - 1, wideLeast, wideLeast + 1, wideMost - 1, wideMost, wideMost + 1} {
			src, dst := noise(n), noise(n+64)
			want := bytes.Clone(dst)
			copy(want, src)
			Copy(dst, src)
			require.True(t, bytes.Equal(want, dst), "%d bytes, %d", n, w)
		}
		require.NotZero(t, wide.Load())
	}
}
