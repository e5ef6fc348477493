package epoch_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/symwin/symwin/epoch"
)

// The fixed points of the design, which are also NCCL's.
func TestFixedPoints(t *testing.T) {
	slots, err := epoch.Slots(32, 16)
	require.NoError(t, err)
	require.Equal(t, 64, slots)
	one, err := epoch.Requirement(1, slots)
	require.NoError(t, err)
	require.Equal(t, 129*epoch.LineSize, one)
	require.Equal(t, 2064, one)
	two, err := epoch.Requirement(2, slots)
	require.NoError(t, err)
	require.Equal(t, 2176+2064, two)
	require.Equal(t, 2176, epoch.BlockStart(1, slots))
	require.Equal(t, 8, epoch.PackedRegionStart(6, 1, 3))
	require.Equal(t, 11, epoch.PackedRegionStart(7, 1, 3))
}

// counts draws sizes from tiny ones to ones of which no product fits, and often
// ones next to where a size of 16-byte lines, twice as many, stops to fit.
func counts() *rapid.Generator[int] {
	return rapid.OneOf(
		rapid.IntRange(-2, 20),
		rapid.IntRange(1, 1<<20),
		rapid.Map(rapid.IntRange(1, 62), func(shift int) int { return math.MaxInt >> shift }),
		around(math.MaxInt/32),
		rapid.IntRange(math.MaxInt-8, math.MaxInt),
	)
}

// around draws numbers next to n, on both sides.
func around(n int) *rapid.Generator[int] { return rapid.IntRange(n-8, n+8) }

// ceil, in numbers that cannot overflow, is ⌈a/b⌉.
func ceil(a *big.Int, b int64) *big.Int {
	q, m := new(big.Int).DivMod(a, big.NewInt(b), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func number(n int) *big.Int             { return big.NewInt(int64(n)) }
func times(a, b *big.Int) *big.Int      { return new(big.Int).Mul(a, b) }
func plus(a, b *big.Int) *big.Int       { return new(big.Int).Add(a, b) }
func isInt(n *big.Int) bool             { return n.IsInt64() && n.Int64() <= math.MaxInt }
func blockLines(slots int) *big.Int     { return plus(number(1), times(number(2), number(slots))) }
func linesToBytes(n *big.Int) *big.Int  { return times(n, number(16)) }
func roundedTo128(bytes *big.Int) int64 { return times(ceil(bytes, 128), number(128)).Int64() }

// agree holds an answer against the oracle's: it must be that number, or an
// error exactly if an argument is below 1 or an int does not hold the number.
func agree(t *rapid.T, a, b int, want *big.Int, got int, err error) {
	if a < 1 || b < 1 || !isInt(want) {
		require.ErrorIs(t, err, epoch.ErrPlan)
		require.Zero(t, got)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want.Int64(), int64(got))
}

func TestImpossiblePlansAreRefused(t *testing.T) {
	for _, p := range [][3]int{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {-1, 1, 1}, {math.MaxInt, 1, 1}, {1, math.MaxInt, 9}} {
		plan, err := epoch.NewPlan(p[0], p[1], p[2])
		require.ErrorIs(t, err, epoch.ErrPlan)
		require.Zero(t, plan)
	}
}

func TestSizesAgreeWithTheOracleOrAreErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := counts().Draw(t, "a"), counts().Draw(t, "b")

		elements, err := epoch.Elements(a, b)
		agree(t, a, b, times(number(a), number(b)), elements, err)

		if b >= 0 {
			require.Equal(t, ceil(number(b), 8).Int64(), int64(epoch.Words(b)))
		}
		slots, err := epoch.Slots(a, b)
		agree(t, a, b, times(number(a), ceil(number(b), 8)), slots, err)

		last := linesToBytes(blockLines(b))
		rounded := times(ceil(last, 128), number(128))
		if rounded.Sign() > 0 && isInt(rounded) && rapid.Bool().Draw(t, "as many blocks as fit") {
			a = around(math.MaxInt/int(rounded.Int64())).Draw(t, "blocks")
		}
		bytes, err := epoch.Requirement(a, b)
		want := plus(times(number(a-1), rounded), last)
		if isInt(want) && !isInt(rounded) {
			// One block that ends within 128 bytes of the largest int: refused too.
			want = rounded
		}
		agree(t, a, b, want, bytes, err)
	})
}

// Every word of every element of every sender in either region of every block
// has a line of its own, none of them a header, all inside the requirement.
func TestEveryWordHasItsOwnLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.IntRange(1, 6).Draw(t, "members")
		perPeer := rapid.IntRange(1, 4).Draw(t, "perPeer")
		eltSize := rapid.IntRange(1, 40).Draw(t, "eltSize")
		blocks := rapid.IntRange(1, 3).Draw(t, "blocks")
		maxElts, err := epoch.Elements(members, perPeer)
		require.NoError(t, err)
		slots, err := epoch.Slots(maxElts, eltSize)
		require.NoError(t, err)
		need, err := epoch.Requirement(blocks, slots)
		require.NoError(t, err)

		taken := map[int]bool{}
		take := func(at int) {
			require.False(t, taken[at], "byte %d has two uses", at)
			require.Zero(t, at%epoch.LineSize)
			require.LessOrEqual(t, at+epoch.LineSize, need)
			taken[at] = true
		}
		for block := range blocks {
			start := epoch.BlockStart(block, slots)
			require.Zero(t, start%128)
			take(start)
			for _, i := range []epoch.Index{8, 9} {
				for sender := range members {
					for j := range perPeer {
						for word := range epoch.Words(eltSize) {
							line := epoch.RegionStart(i, slots) + epoch.WordAt(epoch.SlotOf(sender, j, perPeer), word, maxElts)
							take(start + line*epoch.LineSize)
						}
					}
				}
			}
		}
		require.Len(t, taken, blocks*(1+2*slots), "lines that nobody uses")
		require.EqualValues(t, need, int64(blocks-1)*roundedTo128(linesToBytes(blockLines(slots)))+int64(1+2*slots)*16)
	})
}

// What stands in a plan that was accepted never overflows, however large.
func TestAcceptedPlansAreSafeToAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxElts, eltSize, blocks := counts().Draw(t, "maxElts"), counts().Draw(t, "eltSize"), counts().Draw(t, "blocks")
		maxElts, eltSize, blocks = max(maxElts, 1), max(eltSize, 1), max(blocks, 1)
		slots, need := 0, 0
		for { // halve what was drawn until it fits, so that plans at the limit are common
			var err error
			if slots, err = epoch.Slots(maxElts, eltSize); err == nil {
				if need, err = epoch.Requirement(blocks, slots); err == nil {
					break
				}
			}
			maxElts, eltSize, blocks = maxElts-maxElts/2, eltSize-eltSize/2, blocks-blocks/2
		}
		i := epoch.Index(rapid.Uint64().Draw(t, "i"))
		block := rapid.IntRange(0, blocks-1).Draw(t, "block")
		slot := rapid.IntRange(0, maxElts-1).Draw(t, "slot")
		word := rapid.IntRange(0, epoch.Words(eltSize)-1).Draw(t, "word")

		stride := times(ceil(linesToBytes(blockLines(slots)), 128), number(128))
		line := plus(number(1), times(number(int(i%2)), number(slots)))
		line.Add(line, plus(number(slot), times(number(word), number(maxElts))))
		want := plus(times(number(block), stride), linesToBytes(line))

		plan, err := epoch.NewPlan(blocks, maxElts, eltSize)
		require.NoError(t, err)
		require.Equal(t, need, plan.Bytes)
		require.Equal(t, slots, plan.Slots)
		got := plan.Line(i, block, slot, word)
		require.Equal(t, want.Int64(), int64(got))
		require.LessOrEqual(t, got, need-epoch.LineSize)
	})
}

// NCCL's blocks follow each other without a gap, so numbering all lines of all
// blocks in order gives each region's start.
func TestPackedNumberingCountsEveryLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots, blocks := rapid.IntRange(1, 70).Draw(t, "slots"), rapid.IntRange(1, 5).Draw(t, "blocks")
		line := 0
		for block := range blocks {
			line++ // the header
			for _, i := range []epoch.Index{0, 1} {
				require.Equal(t, line, epoch.PackedRegionStart(i, block, slots))
				line += slots
			}
		}
	})
}
