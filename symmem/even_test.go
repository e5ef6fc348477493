package symmem

import (
	"testing"

	"pgregory.net/rapid"
)

// Even divides as the machine does, on both sides of where it multiplies.
func TestEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, maxRanks).Draw(t, "ranks")
		each := rapid.OneOf(rapid.IntRange(0, 1<<16), rapid.IntRange(0, 1<<33)).Draw(t, "each")
		total := each*n + rapid.IntRange(0, n-1).Draw(t, "rest")
		team := &Team{members: make([]int, n), inverse: inverseOf(n)}
		if q, even := team.Even(total); q != total/n || even != (total%n == 0) {
			t.Fatalf("%d / %d is %d, even %v", total, n, q, even)
		}
	})
}
