package main

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"time"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/symwin/symwin"
)

// fewest is how many points a side needs to tell the modes apart.
const fewest = 8

// modes are what the known u is made of: a·cos(kx·x + ky·y).
var modes = []struct{ a, kx, ky float64 }{{1, 1, 0}, {0.5, 2, 1}, {-2, 0, 3}, {0.25, 3, -2}}

// field is a sum of the modes at a point of the grid, each times its factor.
func (t *transform) field(row, col int, factor func(kx, ky float64) float64) complex128 {
	x, y := 2*math.Pi*float64(col)/float64(t.cols), 2*math.Pi*float64(row)/float64(t.rows)
	sum := 0.0
	for _, m := range modes {
		sum += m.a * factor(m.kx, m.ky) * math.Cos(m.kx*x+m.ky*y)
	}
	return complex(sum, 0)
}

func known(kx, ky float64) float64     { return 1 }
func rightSide(kx, ky float64) float64 { return kx*kx + ky*ky } // of -Δu

// wave is the wave number of coefficient i of n.
func wave(i, n int) float64 {
	if i > n/2 {
		i -= n
	}
	return float64(i)
}

// setRightSide fills byRow.
func (t *transform) setRightSide() {
	mine := t.share(t.rows, t.team.Rank())
	for i := range t.byRow {
		t.byRow[i] = t.field(mine.from+i/t.cols, i%t.cols, rightSide)
	}
}

// divide divides the coefficients by the squares of their wave numbers. The mean of
// u is free; it is made zero.
func (t *transform) divide() {
	mine := t.share(t.cols, t.team.Rank())
	for i := range t.byCol {
		kx, ky := wave(mine.from+i/t.rows, t.cols), wave(i%t.rows, t.rows)
		if kx == 0 && ky == 0 {
			t.byCol[i] = 0
		} else {
			t.byCol[i] /= complex(kx*kx+ky*ky, 0)
		}
	}
}

// A Result is what was solved, and how well.
type Result struct {
	Rows, Cols, Ranks int
	Error             float64 // the greatest, beside the greatest |u|
	Took              time.Duration
}

func (r Result) String() string {
	return fmt.Sprintf("%d × %d points in %.3f s with %d ranks, greatest error %.1e of u", r.Rows, r.Cols, r.Took.Seconds(), r.Ranks, r.Error)
}

// solve solves the equation reps times; the time is of both transforms, on the
// slowest rank.
func solve(ctx context.Context, t *transform, reps int) (Result, error) {
	res := Result{Rows: t.rows, Cols: t.cols, Ranks: t.team.Size(), Took: math.MaxInt64}
	for range reps {
		t.setRightSide()
		if err := symwin.Barrier(ctx, t.team); err != nil {
			return res, err
		}
		begin := time.Now()
		if err := t.forward(ctx); err != nil {
			return res, err
		}
		t.divide()
		if err := t.inverse(ctx); err != nil {
			return res, err
		}
		took := []time.Duration{time.Since(begin)}
		if err := symwin.AllReduce(ctx, t.team, took, took, symwin.Max); err != nil {
			return res, err
		}
		res.Took = min(res.Took, took[0])
	}
	mine := t.share(t.rows, t.team.Rank())
	greatest := []float64{0, 0}
	for i, got := range t.byRow {
		u := t.field(mine.from+i/t.cols, i%t.cols, known)
		greatest[0] = max(greatest[0], cmplx.Abs(got-u))
		greatest[1] = max(greatest[1], cmplx.Abs(u))
	}
	err := symwin.AllReduce(ctx, t.team, greatest, greatest, symwin.Max)
	res.Error = greatest[0] / greatest[1]
	return res, err
}

// compare transforms the right side on all ranks together, and on each alone,
// and counts the coefficients that differ in any bit.
func compare(ctx context.Context, t *transform) (int, error) {
	t.setRightSide()
	if err := t.forward(ctx); err != nil {
		return 0, err
	}
	whole := make([]complex128, t.rows*t.cols)
	for i := range whole {
		whole[i] = t.field(i/t.cols, i%t.cols, rightSide)
	}
	direct(whole, t.rows, t.cols)
	mine, differ := t.share(t.cols, t.team.Rank()), []int{0}
	for i, got := range t.byCol {
		if got != whole[i%t.rows*t.cols+mine.from+i/t.rows] {
			differ[0]++
		}
	}
	err := symwin.AllReduce(ctx, t.team, differ, differ, symwin.Sum)
	return differ[0], err
}

// direct is the transform of one process, without a transposition: rows, then
// columns, where they lie.
func direct(a []complex128, rows, cols int) {
	alongRow, alongCol := fourier.NewCmplxFFT(cols), fourier.NewCmplxFFT(rows)
	for row := range chunks(a, cols) {
		alongRow.Coefficients(row, row)
	}
	col := make([]complex128, rows)
	for c := range cols {
		for r := range rows {
			col[r] = a[r*cols+c]
		}
		alongCol.Coefficients(col, col)
		for r := range rows {
			a[r*cols+c] = col[r]
		}
	}
}
