package epoch_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/symwin/symwin/epoch"
)

// indices draws epochs of the whole range, with every second one near the ends
// of a lap or of the range, where mistakes are.
func indices() *rapid.Generator[epoch.Index] {
	near := rapid.Custom(func(t *rapid.T) epoch.Index {
		lap := rapid.SampledFrom([]uint64{0, 1, 2, 3, 1 << 16, 1 << 31, 1<<32 - 1, 1 << 32}).Draw(t, "lap")
		return epoch.Index(lap*(1<<32-2) + rapid.Uint64Range(0, 8).Draw(t, "beyond") - 4)
	})
	far := rapid.Map(rapid.Uint64(), func(u uint64) epoch.Index { return epoch.Index(u) })
	return rapid.OneOf(near, far)
}

// oracleTag is the definition of a tag in numbers that cannot overflow.
func oracleTag(i epoch.Index) uint64 {
	lap := big.NewInt(4294967294)
	m := new(big.Int).Mod(new(big.Int).SetUint64(uint64(i)), lap)
	return m.Add(m, big.NewInt(2)).Uint64()
}

func TestTagRegionAndWrapAgreeWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := indices().Draw(t, "i")
		require.Equal(t, oracleTag(i), uint64(i.Tag()))
		require.NotEqual(t, epoch.Never, i.Tag())
		require.Equal(t, big.NewInt(0).SetUint64(uint64(i)).Bit(0), uint(i.Region()))
		if i < math.MaxUint64 {
			require.Equal(t, oracleTag(i+1) == 2, i.Wraps(), "epoch %d", i)
		}
	})
}

func TestATagNamesOneEpochOfALapAndAlwaysTheSameRegion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := indices().Draw(t, "i")
		distance := rapid.OneOf(rapid.Uint64Range(1, 8), rapid.Uint64Range(epoch.Lap-8, epoch.Lap+8),
			rapid.Uint64Range(1, epoch.Lap-1)).Draw(t, "distance")
		j := i + epoch.Index(distance)
		if j < i {
			t.Skip("beyond the range")
		}
		require.Equal(t, distance%epoch.Lap == 0, i.Tag() == j.Tag(), "epochs %d and %d", i, j)
		if i.Tag() == j.Tag() {
			require.Equal(t, i.Region(), j.Region())
		}
	})
}

func TestMayWriteIsTheRuleOfOneEpochAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := indices().Draw(t, "i")
		ended := rapid.OneOf(rapid.Uint64(), rapid.Map(rapid.Uint64Range(0, 6),
			func(d uint64) uint64 { return uint64(i) + d - 3 })).Draw(t, "ended")
		plusOne := new(big.Int).Add(new(big.Int).SetUint64(ended), big.NewInt(1))
		want := plusOne.Cmp(new(big.Int).SetUint64(uint64(i))) >= 0
		require.Equal(t, want, i.MayWrite(ended), "epoch %d, ended %d", i, ended)
	})
}
