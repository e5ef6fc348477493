package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryWrongByteIsCounted(t *testing.T) {
	mine := stream{round: 7, from: 1, to: 2}
	for n := range 40 {
		b := make([]byte, n+1)[:n]
		mine.fill(b)
		require.Zero(t, b[:n+1][n], "wrote beyond %d bytes", n)
		require.Zero(t, mine.wrong(b))
		for i := range b {
			b[i] ^= 0x10
			require.Equal(t, 1, mine.wrong(b), "byte %d of %d", i, n)
			b[i] ^= 0x10
		}
	}
}

// Data of another round, sender, receiver or place is wrong in nearly all bytes,
// and in every word.
func TestStreamsHaveNothingInCommon(t *testing.T) {
	const n = 4096
	b := make([]byte, n)
	mine := stream{round: 7, from: 1, to: 2}
	for what, other := range map[string]stream{
		"the round before":      {6, 1, 2},
		"the round before last": {5, 1, 2},
		"another sender":        {7, 0, 2},
		"another receiver":      {7, 1, 0},
		"swapped":               {7, 2, 1},
	} {
		other.fill(b)
		require.Greater(t, mine.wrong(b), n*98/100, what)
		for i := 0; i < n; i += 8 {
			require.NotEqual(t, other.word(i/8), mine.word(i/8), what)
		}
	}
	mine.fill(b)
	require.Greater(t, mine.wrong(append(b[8:], b[:8]...)), n*98/100, "shifted by a word")
}
