package shmsync

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever the counters do, Look and Missing say what a plain loop over all of
// them says; and what Look has once seen as reached it may rely on, since
// counters only grow.
func TestFlagsAgreeWithAPlainLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Mostly one laggard or two, which each look has to find.
		values := rapid.SliceOfN(rapid.SampledFrom([]uint64{0, 2, 4, 4, 4, 4, 4}), 0, 6).Draw(t, "values")
		words := make([]*uint64, len(values))
		for i := range words {
			if rapid.IntRange(0, 4).Draw(t, "nil") > 0 {
				words[i] = &values[i]
			}
		}
		f := NewFlags(words, rapid.IntRange(0, 20).Draw(t, "first"))
		target := uint64(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				target = rapid.Uint64Range(0, 5).Draw(t, "target")
				f.Expect(target)
			case 1:
				if len(values) > 0 {
					i := rapid.IntRange(0, len(values)-1).Draw(t, "writer")
					values[i] += rapid.Uint64Range(1, 3).Draw(t, "ahead")
				}
			}
			var missing []int
			for i, w := range words {
				if w != nil && *w < target {
					missing = append(missing, i)
				}
			}
			require.Equal(t, len(missing) == 0, f.Look(), "target %d, values %v", target, values)
			require.Equal(t, missing, f.Missing(nil))
		}
	})
}

// Missing appends: what a caller reuses keeps its contents.
func TestMissingAppends(t *testing.T) {
	var low uint64
	f := NewFlags([]*uint64{&low, nil, &low}, 1)
	f.Expect(1)
	require.Equal(t, []int{7, 0, 2}, f.Missing([]int{7}))
}

// A tally holds when everybody has arrived, in every round anew. Exactly one
// arrival of a round is told that it was the last, and behind a look that holds
// everything is visible that any of them wrote.
func TestTallyCountsEverybody(t *testing.T) {
	clean(t)
	const ranks, rounds = 4, 200
	var count uint64
	var wrote [ranks]uint64 // plain stores: the race detector judges the ordering
	flags := make([]uint64, ranks)
	words := make([]*uint64, ranks)
	for r := range words {
		words[r] = &flags[r]
	}
	var last atomic.Int64
	place := Place{Bell: new(Doorbell), Policy: Policy{InProcess: true}}
	done := make(chan string, ranks)
	for r := range ranks {
		go func() {
			tally := NewTally(&count, words, r+1)
			for round := uint64(1); round <= rounds; round++ {
				wrote[r] = round
				tally.Expect(2*round*ranks-ranks, 2*round-1)
				atomic.StoreUint64(words[r], 2*round-1)
				if tally.Arrive() {
					last.Add(1)
					place.Bell.Ring()
				}
				if err := place.Wait(t.Context(), tally, nobody); err != nil {
					done <- err.Error()
					return
				}
				for other := range wrote {
					if wrote[other] != round {
						done <- "a rank's store is not there behind its arrival"
						return
					}
				}
				// The second meeting keeps the next round's stores out of this one's looks.
				tally.Expect(2*round*ranks, 2*round)
				atomic.StoreUint64(words[r], 2*round)
				if tally.Arrive() {
					last.Add(1)
					place.Bell.Ring()
				}
				if err := place.Wait(t.Context(), tally, nobody); err != nil {
					done <- err.Error()
					return
				}
			}
			done <- ""
		}()
	}
	for range ranks {
		require.Empty(t, receive(t, done))
	}
	require.EqualValues(t, 2*rounds, last.Load(), "one last arrival a meeting")
}

// The flags beside a tally name who is missing.
func TestTallyNamesTheMissing(t *testing.T) {
	var count, came, absent uint64
	tally := NewTally(&count, []*uint64{&came, &absent}, 0)
	tally.Expect(2, 1)
	came = 1
	require.False(t, tally.Arrive())
	require.False(t, tally.Look())
	require.Equal(t, []int{1}, tally.Missing(nil))
}
