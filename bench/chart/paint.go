package chart

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	xfont "golang.org/x/image/font"
)

// paint is a colour on light and on dark ground.
type paint struct {
	name        string
	light, dark color.RGBA
}

func rgb(v uint32) color.RGBA {
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// The colours are after Okabe and Ito, whom all kinds of sight tell apart, each
// darkened or lightened until it stands out from the ground by 3:1.
var (
	ink   = paint{"chart-ink", rgb(0x1C1D21), rgb(0xE9EAEE)}
	faint = paint{"chart-faint", rgb(0x5D6069), rgb(0xA5A9B4)}
	grid  = paint{"chart-grid", rgb(0xDDDFE4), rgb(0x383B43)}
	blue  = paint{"chart-0", rgb(0x0072B2), rgb(0x56B4E9)}

	others = []paint{
		{"chart-1", rgb(0xD55E00), rgb(0xFF8A4C)}, // vermilion
		{"chart-2", rgb(0x00875F), rgb(0x2FC79A)}, // green
		{"chart-3", rgb(0xB0508A), rgb(0xE89AC7)}, // purple
		{"chart-4", rgb(0x6B5B00), rgb(0xCFC04A)}, // olive
		{"chart-5", rgb(0xA87200), rgb(0xF0B93A)}, // orange
		{"chart-6", rgb(0x4F46AD), rgb(0xA99BFF)}, // indigo
	}

	paints = append([]paint{ink, faint, grid, blue}, others...)
)

// Style is the rules of CSS that [Inline] drawings need: their colours, by the
// reader's choice of light or dark.
func Style() string {
	vars := func(of func(paint) color.RGBA) string {
		var b strings.Builder
		for _, p := range paints {
			fmt.Fprintf(&b, "--%s:%s;", p.name, hex(of(p)))
		}
		return ":root{" + b.String() + "}"
	}
	return vars(func(p paint) color.RGBA { return p.light }) +
		"\n@media (prefers-color-scheme:dark){" + vars(func(p paint) color.RGBA { return p.dark }) + "}"
}

// Look tells a line from others: its colour, marker and dash.
type Look int

// Ours is the line that the drawing is about, Limit the one it cannot pass. Other
// lines have the looks from Other on; after the last come the first ones again.
const (
	Ours  Look = -1
	Limit Look = -2
	Other Look = 0
)

var markers = []draw.GlyphDrawer{draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}

var dashes = [][]vg.Length{{7, 3}, {2, 2}, nil, {9, 3, 2, 3}, {4, 2}, {12, 4}}

func (l Look) line() draw.LineStyle {
	switch l {
	case Ours:
		return draw.LineStyle{Color: blue.light, Width: 2.6}
	case Limit:
		return draw.LineStyle{Color: faint.light, Width: 1.6, Dashes: []vg.Length{1.5, 3}}
	}
	k := int(l) % len(others)
	return draw.LineStyle{Color: others[k].light, Width: 1.5, Dashes: dashes[k]}
}

// marker is nil for a line without.
func (l Look) marker() *draw.GlyphStyle {
	switch l {
	case Ours:
		return &draw.GlyphStyle{Color: blue.light, Radius: 3.4, Shape: draw.CircleGlyph{}}
	case Limit:
		return nil
	}
	k := int(l) % len(others)
	return &draw.GlyphStyle{Color: others[k].light, Radius: 3.2, Shape: markers[k]}
}

// letters are of one size everywhere but in titles.
const letters = 12

func lettering(size float64, weight xfont.Weight, p paint) text.Style {
	return text.Style{
		Color:   p.light,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: font.Length(size)},
		Handler: plot.DefaultTextHandler,
	}
}

func plain(p paint) text.Style { return lettering(letters, xfont.WeightNormal, p) }
func bold(size float64) text.Style {
	return lettering(size, xfont.WeightBold, ink)
}

// wrapped is s in lines that are not wider than width.
func wrapped(style text.Style, s string, width vg.Length) (lines []string) {
	for _, word := range strings.Fields(s) {
		last := len(lines) - 1
		if last >= 0 && style.Width(lines[last]+" "+word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
