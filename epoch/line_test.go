package epoch_test

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/symwin/symwin/epoch"
)

func TestALineIsItsTwoHalvesInMemory(t *testing.T) {
	require.EqualValues(t, epoch.LineSize, unsafe.Sizeof(epoch.Line{}))
	rapid.Check(t, func(t *rapid.T) {
		data, tag := rapid.Uint64().Draw(t, "data"), rapid.Uint32().Draw(t, "tag")
		var payload, memory [16]byte
		binary.LittleEndian.PutUint64(payload[:], data)
		copy(memory[0:], payload[0:4])
		binary.LittleEndian.PutUint32(memory[4:], tag)
		copy(memory[8:], payload[4:8])
		binary.LittleEndian.PutUint32(memory[12:], tag)

		line := epoch.Pack(data, tag)
		lo, hi := line.Halves()
		require.Equal(t, binary.LittleEndian.Uint64(memory[:8]), lo)
		require.Equal(t, binary.LittleEndian.Uint64(memory[8:]), hi)
		require.Equal(t, line, epoch.FromHalves(lo, hi))

		got, ok := line.Unpack(tag)
		require.True(t, ok)
		require.Equal(t, data, got)
	})
}

// A reader may catch a line with any mixture of halves that were stored in it.
func TestATornLineMatchesNoEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		older, newer := rapid.Uint32().Draw(t, "older"), rapid.Uint32().Draw(t, "newer")
		oldLo, oldHi := epoch.Pack(rapid.Uint64().Draw(t, "a"), older).Halves()
		newLo, newHi := epoch.Pack(rapid.Uint64().Draw(t, "b"), newer).Halves()
		for _, torn := range []epoch.Line{epoch.FromHalves(newLo, oldHi), epoch.FromHalves(oldLo, newHi)} {
			require.Equal(t, older == newer, torn.Match(newer))
			require.Equal(t, older == newer, torn.Match(older))
			data, ok := torn.Unpack(newer)
			require.Equal(t, older == newer, ok)
			if !ok {
				require.Zero(t, data)
			}
		}
	})
}

func TestClearedMemoryMatchesNoEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, ok := epoch.FromHalves(0, 0).Unpack(indices().Draw(t, "i").Tag())
		require.False(t, ok)
	})
}
