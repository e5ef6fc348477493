package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/examples/internal/programtest"
)

// alone follows one orbit without a pipeline.
func alone(c complex128, steps int) (p point) {
	for range steps {
		if real(p.z)*real(p.z)+imag(p.z)*imag(p.z) > 4 {
			break
		}
		p.z = p.z*p.z + c
		p.steps++
	}
	return p
}

// Every point of every block, both ways, in turns, so that what is left of one run
// cannot pass for the next.
func TestEveryPointIsFollowed(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		for _, g := range []grid{{side: 24, rows: 1, steps: 7}, {side: 24, rows: 8, steps: 3}, {side: 10, rows: 10, steps: 40}} {
			require.NoError(t, symwin.Run(t.Context(), n, func(ctx context.Context, w *symwin.World) error {
				s, err := newStage(ctx, w, g)
				if err != nil {
					return err
				}
				for round, overlap := range []bool{false, true, true, false} {
					seen := map[int]bool{}
					wrong, within := 0, 0
					s.done = func(k int, points []point) {
						first := s.order[k] * g.rows
						seen[first] = true
						for i, got := range points {
							c := complex((float64(i%g.side)+0.5)*4/float64(g.side)-2, (float64(first+i/g.side)+0.5)*4/float64(g.side)-2)
							want := alone(c, n*g.steps)
							if got != want {
								wrong++
							}
							if inside(want.z) {
								within++
							}
						}
					}
					if err := s.all(ctx, overlap); err != nil {
						return err
					}
					if last := w.Rank() == n-1; last != (len(seen) == g.side/g.rows) || wrong > 0 || int64(within) != s.points {
						return fmt.Errorf("%d ranks, %v, round %d: %d blocks, %d points wrong, %d of %d inside", n, g, round, len(seen), wrong, s.points, within)
					}
				}
				return nil
			}))
		}
	}
}

func inProcess(t testing.TB, n int, args ...string) (stdout, stderr string, codes []int) {
	return programtest.InProcess(t, n, run, args...)
}

const answer = `area 1\.5\d{5}: 256 × 256 points, %d stages of %d steps, 64 blocks
exchange, then compute    \d+\.\d{3} s
exchange while computing  \d+\.\d{3} s, \d+\.\d\d × as fast
`

// The area is 1.5066 for a fine grid and many steps.
func TestTheArea(t *testing.T) {
	first := ""
	for _, n := range []int{1, 2, 4} {
		stdout, stderr, codes := inProcess(t, n, "--side=256", "--rows=4", fmt.Sprintf("--steps=%d", 240/n), "--reps=1")
		require.Empty(t, stderr)
		require.Equal(t, make([]int, n), codes)
		require.Regexp(t, "^"+fmt.Sprintf(answer, n, 240/n)+"$", stdout)
		if first == "" {
			first = stdout[:len("area 1.512345")]
		}
		require.Equal(t, first, stdout[:len(first)], "the same for any number of stages")
	}
}

// Whatever is wrong is one line and the same status on all ranks.
func TestOneClearError(t *testing.T) {
	for want, args := range map[string][]string{
		"--side 0 --rows 16 --steps 256 --reps 3: each has to be":          {"--side", "0"},
		"--side 100 --rows 16 --steps 256 --reps 3: each has to be":        {"--side", "100"},
		"--side 2048 --rows 0 --steps 256 --reps 3: each has":              {"--rows", "0"},
		"--side 99999999 --rows 1 --steps 256 --reps 3: each has":          {"--side", "99999999", "--rows", "1"},
		"--side 2048 --rows 1024: two blocks have to lie in a window: all": {"--rows", "1024"},
		"unknown flag: --size; pipeline --help says what there is":         {"--size", "3"},
		`"8": there are flags only; pipeline --help says which`:            {"8"},
		`invalid argument "many" for "--rows" flag: strconv.ParseInt: par`: {"--rows", "many"},
	} {
		stdout, stderr, codes := inProcess(t, 3, args...)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
		require.Regexp(t, `^pipeline: [^\n]+\n$`, stderr)
		require.Equal(t, []int{2, 2, 2}, codes)
	}
	stdout, _, codes := inProcess(t, 2, "--help")
	require.Contains(t, stdout, "--rows ROWS")
	require.Equal(t, []int{0, 0}, codes)
}
