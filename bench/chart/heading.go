package chart

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// heading is what stands above a drawing: its name and a note, in as many lines
// as they take.
type heading struct{ name, note []string }

// The measures of a drawing.
const (
	margin    = 8
	nameSize  = 15
	nameLine  = 20
	noteLine  = 16
	underHead = 8
)

func headed(name, note string, width float64) heading {
	room := vg.Length(width - 2*margin)
	return heading{wrapped(bold(nameSize), name, room), wrapped(plain(faint), note, room)}
}

func (h heading) height() float64 {
	return nameLine*float64(len(h.name)) + noteLine*float64(len(h.note)) + underHead
}

// draw leaves of c what is below.
func (h heading) draw(c *draw.Canvas) {
	y := c.Max.Y
	for _, line := range h.name {
		c.FillText(bold(nameSize), vg.Point{X: c.Min.X, Y: y - 13}, line)
		y -= nameLine
	}
	for _, line := range h.note {
		c.FillText(plain(faint), vg.Point{X: c.Min.X, Y: y - 11}, line)
		y -= noteLine
	}
	c.Max.Y = y - underHead
}
