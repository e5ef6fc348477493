package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/symmem"
)

// A machine that becomes faster or slower while a row is measured: each rank has a
// clock that only operations move on, rank 1's by twice as much, and rank 2 takes no
// part. Ranks that decided differently would wait for each other for ever.
func TestBlocksStayLongEnoughWhenTheMachineChanges(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	p := point{Shortest: minBlock, Budget: 4 * ms}
	for _, c := range []struct {
		what          string
		before, after time.Duration // an operation of rank 0
		ops           int           // of a block, at most
		blocks        [2]int        // at least, and at most
	}{
		{"as it was", 4 * us, 4 * us, 4, [2]int{100, 200}},
		{"faster", 4 * us, us, 14, [2]int{100, 200}},
		{"much faster", 100 * us, 50, 300, [2]int{100, 200}},
		{"slower", us, 2 * us, 14, [2]int{20, 80}}, // still the plan of before
		{"much slower", us, 10 * us, 2, [2]int{100, 200}},
		{"slow when it began", ms, 100 * us, 1, [2]int{20, 20}},
	} {
		t.Run(c.what, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var got [3]slice
			require.NoError(t, symmem.Run(ctx, 3, func(ctx context.Context, w *symmem.World) error {
				board, err := openBoard(ctx, w.Team())
				if err != nil {
					return err
				}
				now, each := time.Duration(0), c.before*time.Duration(1+w.Rank())
				m := &meter{board: board, now: func() time.Duration { return now }}
				x := newExercise(task{}, w.Rank())
				if w.Rank() < 2 {
					x.run = func(_ context.Context, n int) error { now += time.Duration(n) * each; return nil }
				}
				s := &stint{exercise: x}
				for k := range got {
					if k > 0 {
						each = c.after * time.Duration(1+w.Rank())
					}
					mine, err := m.measure(ctx, s, p)
					if err != nil {
						return err
					}
					if w.Rank() == 0 {
						got[k] = mine
					}
				}
				return nil
			}))
			for k, s := range got {
				require.GreaterOrEqual(t, s.typical(), minBlock, "slice %d: %d operations a block", k, s.Ops)
			}
			last := got[len(got)-1]
			require.LessOrEqual(t, last.Ops, c.ops)
			require.GreaterOrEqual(t, len(last.Blocks), c.blocks[0], "less than the budget is used")
			require.LessOrEqual(t, len(last.Blocks), c.blocks[1], "much more than the budget is used")
		})
	}
}

// What arrives wrong counts also in a slice that does not.
func TestWrongBytesOfASliceThatIsMeasuredAgainCount(t *testing.T) {
	require.NoError(t, symmem.Run(t.Context(), 1, func(ctx context.Context, w *symmem.World) error {
		board, err := openBoard(ctx, w.Team())
		if err != nil {
			return err
		}
		now, each := time.Duration(0), time.Microsecond
		m := &meter{board: board, now: func() time.Duration { return now }}
		x := newExercise(task{}, 0)
		x.run = func(_ context.Context, n int) error { now += time.Duration(n) * each; return nil }
		bad := 0
		x.wrong = func(uint64) int { return bad }
		s := &stint{exercise: x, task: task{Check: true}}
		if _, err := m.measure(ctx, s, point{Shortest: minBlock}); err != nil {
			return err
		}
		each, bad = 100, 7
		got, err := m.measure(ctx, s, point{Shortest: minBlock})
		require.Equal(t, 2*bad, got.Wrong)
		return err
	}))
}
