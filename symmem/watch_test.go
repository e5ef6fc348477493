package symmem

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// missing plays a condition whose answer changes between two looks.
type missing [][]int

func (m *missing) Look() bool { return false }
func (m *missing) Missing(into []int) []int {
	now := (*m)[0]
	if len(*m) > 1 {
		*m = (*m)[1:]
	}
	return append(into, now...)
}

// A member that came and left while the wait looked is not one that left without
// coming.
func TestLeavingIsToldOfThoseStillMissing(t *testing.T) {
	r := heapRegion("watch", Geometry{Size: 3, Window: hugeBytes})
	for _, b := range r.blocks {
		b.life.Store(5 | leftWord)
	}
	w := newWorld(Options{}, r)
	r.blocks[1].life.Store(leftWord)

	x := NewWatch(w.team)
	x.cond = &missing{{1, 2}, {2}}
	require.NoError(t, x.Inspect(time.Millisecond))
	x.cond = &missing{{1, 2}}
	require.ErrorIs(t, x.Inspect(time.Millisecond), ErrLeft)
	require.ErrorContains(t, x.Inspect(time.Millisecond), "rank 1,")
}
