package main

import "math/rand/v2"

// A grid is the points whose orbits are followed: the middles of side × side squares
// that cover the real and imaginary parts from -2 to 2.
type grid struct {
	side  int
	rows  int // in a block; divides side
	steps int // in a stage
	order []int
}

// shuffle draws the order in which blocks enter the pipeline: from the border to
// the middle costs would grow alike on all stages, which real work seldom does.
func (g *grid) shuffle() { g.order = rand.New(rand.NewPCG(1, 2)).Perm(g.side / g.rows) }

const mostSide = 1 << 16

// A point is how far the orbit of a point of the grid has come. That it has
// escaped, later stages see by z alone.
type point struct {
	z     complex128
	steps int64
}

func (g grid) blocks() int { return len(g.order) }

// block is how many points a block has.
func (g grid) block() int { return g.rows * g.side }

// follow takes the points of block k from in through the steps of a stage, to out.
func (g grid) follow(out, in []point, k int) {
	row, col := g.order[k]*g.rows, 0
	for i, p := range in {
		c := complex(g.scale(col), g.scale(row))
		if col++; col == g.side {
			row, col = row+1, 0
		}
		for n := 0; n < g.steps && inside(p.z); n++ {
			p.z = p.z*p.z + c
			p.steps++
		}
		out[i] = p
	}
}

// scale is the real or imaginary part at a column or row.
func (g grid) scale(j int) float64 { return (4*float64(j)+2)/float64(g.side) - 2 }

func inside(z complex128) bool { return real(z)*real(z)+imag(z)*imag(z) <= 4 }

// area is that of the squares whose middles have not escaped.
func (g grid) area(points int64) float64 {
	return 16 * float64(points) / float64(g.side) / float64(g.side)
}
