package main

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/examples/internal/programtest"
)

var sizes = []struct{ rows, cols int }{{1, 1}, {1, 7}, {8, 1}, {4, 4}, {16, 16}, {17, 33}, {40, 25}, {64, 128}}

func matrix(rows, cols int) []complex128 {
	random := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
	a := make([]complex128, rows*cols)
	for i := range a {
		a[i] = complex(random.NormFloat64(), random.NormFloat64())
	}
	return a
}

// The definition, term by term.
func TestDirectIsTheTransform(t *testing.T) {
	for _, s := range sizes[:6] {
		a := matrix(s.rows, s.cols)
		got := append([]complex128(nil), a...)
		direct(got, s.rows, s.cols)
		for k := range s.rows {
			for l := range s.cols {
				var want complex128
				for r := range s.rows {
					for c := range s.cols {
						turns := float64(k*r)/float64(s.rows) + float64(l*c)/float64(s.cols)
						want += a[r*s.cols+c] * cmplx.Exp(complex(0, -2*math.Pi*turns))
					}
				}
				require.InDelta(t, 0, cmplx.Abs(got[k*s.cols+l]-want), 1e-9)
			}
		}
	}
}

// Every bit, also where ranks have uneven shares or none; and back again.
func TestAllRanksTransformAsOne(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8} {
		for _, s := range sizes {
			a := matrix(s.rows, s.cols)
			want := append([]complex128(nil), a...)
			direct(want, s.rows, s.cols)
			require.NoError(t, symwin.Run(t.Context(), n, func(ctx context.Context, w *symwin.World) error {
				tr, err := newTransform(ctx, w, s.rows, s.cols)
				if err != nil {
					return err
				}
				rows, cols := tr.share(s.rows, w.Rank()), tr.share(s.cols, w.Rank())
				copy(tr.byRow, a[rows.from*s.cols:])
				if err := tr.forward(ctx); err != nil {
					return err
				}
				for i, got := range tr.byCol {
					if w := want[i%s.rows*s.cols+cols.from+i/s.rows]; got != w {
						return fmt.Errorf("%d ranks, %v: coefficient %d is %v instead of %v", n, s, i, got, w)
					}
				}
				clear(tr.byRow)
				if err := tr.inverse(ctx); err != nil {
					return err
				}
				for i, got := range tr.byRow {
					if want := a[rows.from*s.cols+i]; cmplx.Abs(got-want) > 1e-12 {
						return fmt.Errorf("%d ranks, %v: element %d came back as %v instead of %v", n, s, i, got, want)
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

func TestTheEquationIsSolved(t *testing.T) {
	for _, n := range []int{1, 3, 4} {
		for _, s := range []struct{ rows, cols int }{{8, 8}, {30, 50}, {128, 64}} {
			stdout, stderr, codes := inProcess(t, n, fmt.Sprintf("--rows=%d", s.rows), fmt.Sprintf("--cols=%d", s.cols), "--reps=2", "--check")
			require.Empty(t, stderr)
			require.Equal(t, make([]int, n), codes)
			require.Regexp(t, fmt.Sprintf(`^%d × %d points in \d+\.\d{3} s with %d ranks, greatest error \d\.\de-1[4-7] of u\nall %d coefficients are those of one process\n$`,
				s.rows, s.cols, n, s.rows*s.cols), stdout)
		}
	}
}

// Whatever is wrong is one line and the same status on all ranks.
func TestOneClearError(t *testing.T) {
	for want, args := range map[string][]string{
		"--rows 0 --cols 1024 --reps 1: each has to be 1 or more":        {"--rows", "0"},
		"--rows 1024 --cols 1024 --reps -1: each has":                    {"--reps", "-1"},
		"--rows 7 --cols 1024: each has to be 8 or more, or":             {"--rows", "7"},
		"--rows 1099511627776 --cols 2: a grid has at most":              {"--rows", "1099511627776", "--cols", "2"},
		"--rows 8192 --cols 8192: ":                                      {"--rows", "8192", "--cols", "8192"},
		"unknown flag: --size; fft --help says what there is":            {"--size", "3"},
		`"1024": there are flags only; fft --help says which`:            {"1024"},
		`invalid argument "many" for "--rows" flag: strconv.ParseInt: p`: {"--rows", "many"},
	} {
		stdout, stderr, codes := inProcess(t, 3, args...)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
		require.Regexp(t, `^fft: [^\n]+\n$`, stderr)
		require.Equal(t, []int{2, 2, 2}, codes)
	}
	stdout, _, codes := inProcess(t, 2, "--help")
	require.Contains(t, stdout, "--rows ROWS")
	require.Equal(t, []int{0, 0}, codes)
}
