package chart

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a square matrix, each cell of which has a colour and a number.
type Heat struct {
	Name, Note string
	Labels     []string    // of rows and of columns
	Cells      [][]float64 // by row; NaN: none
}

// Title is Drawing's.
func (h *Heat) Title() string { return h.Name }

// The measures of a heat map. Three digits fit the smallest cell.
const (
	cellLarge  = 58
	cellSmall  = 30
	labelWidth = 34
)

func (h *Heat) cell(width float64) float64 {
	return math.Max(cellSmall, math.Min(cellLarge, (width-2*margin-labelWidth)/float64(len(h.Labels))))
}

// size may be more than width: cells do not shrink until nobody can read them.
func (h *Heat) size(width float64) (x, y float64) {
	side := h.cell(width) * float64(len(h.Labels))
	x = math.Max(math.Min(width, 420), side+labelWidth+2*margin)
	return x, headed(h.Name, h.Note, x).height() + side + labelWidth/2 + 2*margin
}

func (h *Heat) draw(c draw.Canvas) {
	width := float64(c.Max.X - c.Min.X)
	cell := vg.Length(math.Min(h.cell(width), (width-2*margin-labelWidth)/float64(len(h.Labels))))
	c = draw.Crop(c, margin, -margin, margin, -margin)
	headed(h.Name, h.Note, width).draw(&c)
	top, left := c.Max.Y-labelWidth/2, c.Min.X+labelWidth

	low, high := h.extremes()
	label := plain(faint)
	label.YAlign = draw.YCenter
	for i, name := range h.Labels {
		middle := (vg.Length(i) + 0.5) * cell
		label.XAlign = draw.XRight
		c.FillText(label, vg.Point{X: left - 6, Y: top - middle}, name)
		label.XAlign = draw.XCenter
		c.FillText(label, vg.Point{X: left + middle, Y: top + 9}, name)
		for j := range h.Labels {
			v := h.Cells[i][j]
			if math.IsNaN(v) {
				continue
			}
			share := 0.5
			if high > low*1.02 {
				share = math.Log(v/low) / math.Log(high/low)
			}
			fill, text := warmth(share)
			x, y := left+vg.Length(j)*cell, top-vg.Length(i+1)*cell
			c.FillPolygon(fill, []vg.Point{{X: x + 1, Y: y + 1}, {X: x + cell - 1, Y: y + 1}, {X: x + cell - 1, Y: y + cell - 1}, {X: x + 1, Y: y + cell - 1}})
			number := plain(ink)
			number.Color, number.XAlign, number.YAlign = text, draw.XCenter, draw.YCenter
			c.FillText(number, vg.Point{X: x + cell/2, Y: y + cell/2}, fmt.Sprintf("%.0f", v))
		}
	}
}

func (h *Heat) extremes() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range h.Cells {
		for _, v := range row {
			if !math.IsNaN(v) {
				low, high = math.Min(low, v), math.Max(high, v)
			}
		}
	}
	return low, high
}

// Empty tells that there is nothing to draw.
func (h *Heat) Empty() bool {
	low, high := h.extremes()
	return low > high
}

// ramp goes from light to dark, so that the order of its colours is seen without
// hues.
var ramp = []color.RGBA{rgb(0xFFF3C4), rgb(0xFDC87A), rgb(0xF0894D), rgb(0xC6443C), rgb(0x7F1D4E), rgb(0x3B0F45)}

func warmth(share float64) (fill, text color.RGBA) {
	at := math.Min(math.Max(share, 0), 1) * float64(len(ramp)-1)
	k := min(int(at), len(ramp)-2)
	mix := func(a, b uint8) uint8 {
		return uint8(math.Round(float64(a) + (at-float64(k))*(float64(b)-float64(a))))
	}
	a, b := ramp[k], ramp[k+1]
	fill = color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
	if luminance(fill) > 0.18 { // black stands out from it as well as white does
		return fill, rgb(0x101010)
	}
	return fill, rgb(0xFEFEFE)
}

// luminance is that of WCAG 2.
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}
