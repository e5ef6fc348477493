package main

import (
	"context"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/symwin/symwin"
)

// A transform is one rank's side of the two-dimensional Fourier transform of a
// matrix whose rows are dealt over the ranks. Its result lies transposed: each
// rank has a share of the columns, one after the other. That spares the second
// transposition, and who multiplies coefficients by something does not mind.
type transform struct {
	team       *symwin.Team
	rows, cols int
	alongRow   *fourier.CmplxFFT
	alongCol   *fourier.CmplxFFT

	byRow []complex128 // my rows
	byCol []complex128 // my columns

	src      []complex128 // what goes out, in rank order
	received []complex128 // what comes in: in the window, so that it is copied once
	out, in  []int
}

// mostPoints keeps every size here far below what an int holds.
const mostPoints = 1 << 40

func newTransform(ctx context.Context, w *symwin.World, rows, cols int) (*transform, error) {
	team, n := w.Team(), w.Size()
	t := &transform{team: team, rows: rows, cols: cols,
		alongRow: fourier.NewCmplxFFT(cols), alongCol: fourier.NewCmplxFFT(rows), out: make([]int, n), in: make([]int, n)}
	// As much as the rank with the largest shares needs, the same on all.
	most := max((rows+n-1)/n*cols, (cols+n-1)/n*rows)
	window, err := symwin.Alloc[complex128](ctx, w, most)
	if err != nil {
		return nil, err
	}
	t.received = window.Local()
	myRows, myCols := t.share(rows, team.Rank()), t.share(cols, team.Rank())
	t.byRow, t.byCol = make([]complex128, myRows.len()*cols), make([]complex128, myCols.len()*rows)
	t.src = make([]complex128, max(len(t.byRow), len(t.byCol)))
	return t, nil
}

// A span is a range of rows or columns.
type span struct{ from, to int }

func (s span) len() int { return s.to - s.from }

// share is rank r's of n rows or columns. They need not divide.
func (t *transform) share(n, r int) span {
	return span{n * r / t.team.Size(), n * (r + 1) / t.team.Size()}
}

// forward transforms byRow into byCol.
func (t *transform) forward(ctx context.Context) error {
	for row := range chunks(t.byRow, t.cols) {
		t.alongRow.Coefficients(row, row)
	}
	if err := t.transpose(ctx, t.byCol, t.byRow, t.rows, t.cols); err != nil {
		return err
	}
	for col := range chunks(t.byCol, t.rows) {
		t.alongCol.Coefficients(col, col)
	}
	return nil
}

// inverse transforms byCol into byRow.
func (t *transform) inverse(ctx context.Context) error {
	for col := range chunks(t.byCol, t.rows) {
		t.alongCol.Sequence(col, col)
	}
	if err := t.transpose(ctx, t.byRow, t.byCol, t.cols, t.rows); err != nil {
		return err
	}
	scale := complex(1/float64(t.rows*t.cols), 0)
	for row := range chunks(t.byRow, t.cols) {
		t.alongRow.Sequence(row, row)
		for i := range row {
			row[i] *= scale
		}
	}
	return nil
}

// chunks are the rows of a matrix.
func chunks(a []complex128, width int) func(func([]complex128) bool) {
	return func(yield func([]complex128) bool) {
		for ; len(a) > 0; a = a[width:] {
			if !yield(a[:width]) {
				return
			}
		}
	}
}

// transpose turns my rows of a rows × cols matrix, in a, into my columns, in b.
// Rank r gets what my rows have in its columns; rows and columns need not divide
// by the ranks, so the parts are uneven.
func (t *transform) transpose(ctx context.Context, b, a []complex128, rows, cols int) error {
	n, me := t.team.Size(), t.team.Rank()
	myRows, myCols := t.share(rows, me), t.share(cols, me)
	src := t.src[:0]
	for r := range n {
		theirs := t.share(cols, r)
		for row := range chunks(a, cols) {
			src = append(src, row[theirs.from:theirs.to]...)
		}
		t.out[r] = myRows.len() * theirs.len()
	}
	if err := symwin.AllToAllv(ctx, t.team, t.received, t.in, src, t.out); err != nil {
		return err
	}
	part := t.received
	for r, length := range t.in {
		if length == 0 {
			continue // of two ranks one may have no rows, or the other no columns
		}
		theirs := t.share(rows, r)
		turn(b[theirs.from:], rows, part[:length], theirs.len(), myCols.len())
		part = part[length:]
	}
	return nil
}

// tile is the side of the squares in which turn works: what it reads and writes of
// one stays in the first-level cache until all of each line has been used.
const tile = 16

// turn transposes a, of rows × cols, into b, whose rows are width long.
func turn(b []complex128, width int, a []complex128, rows, cols int) {
	for top := 0; top < rows; top += tile {
		for left := 0; left < cols; left += tile {
			for c := left; c < min(left+tile, cols); c++ {
				for r := top; r < min(top+tile, rows); r++ {
					b[c*width+r] = a[r*cols+c]
				}
			}
		}
	}
}
