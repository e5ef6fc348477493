package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sheet is one or more panels over the same x, beside each other where there is
// room and below each other where not, with one legend.
type Sheet struct {
	Name   string // what it shows
	Note   string // where and how it was measured; may be empty
	X      string // what x is
	Sizes  bool   // x is bytes: 8, 64, 512, 4K, …
	Panels []Panel
}

// Panel is lines over x. Both axes are logarithmic.
type Panel struct {
	Name  string // what y is, with its unit
	Lines []Line // in the order of the legend; the first is drawn above all others
}

// Line is one subject's figures. What is not a positive number is left out.
type Line struct {
	Name string
	Look Look
	X, Y []float64
}

// Empty tells that there is nothing to draw.
func (s *Sheet) Empty() bool { return len(s.panels()) == 0 }

// Title is Drawing's.
func (s *Sheet) Title() string { return s.Name }

// panels are those that have a point.
func (s *Sheet) panels() (list []Panel) {
	for _, p := range s.Panels {
		shown := Panel{Name: p.Name}
		for _, l := range p.Lines {
			if len(l.points()) > 0 {
				shown.Lines = append(shown.Lines, l)
			}
		}
		if len(shown.Lines) > 0 {
			list = append(list, shown)
		}
	}
	return list
}

func (l *Line) points() (xys plotter.XYs) {
	for k, x := range l.X {
		if y := l.Y[k]; x > 0 && y > 0 && !math.IsInf(y, 0) {
			xys = append(xys, plotter.XY{X: x, Y: y})
		}
	}
	return xys
}

// The measures of a sheet.
const (
	beside      = 640 // the least width at which panels and legend stand beside each other
	entryLine   = 19
	panelHeight = 330
	panelLow    = 260 // where they stand below each other
	thumb       = 34
)

// legend is every name that a panel shows, once.
func (s *Sheet) legend() (lines []Line) {
	seen := map[string]bool{}
	for _, p := range s.panels() {
		for _, l := range p.Lines {
			if !seen[l.Name] {
				seen[l.Name] = true
				lines = append(lines, l)
			}
		}
	}
	return lines
}

// legendWidth is that of the longest entry.
func (s *Sheet) legendWidth() (w vg.Length) {
	style := plain(ink)
	for _, l := range s.legend() {
		w = max(w, style.Width(l.Name))
	}
	return w + thumb + 12
}

// columns are those of a legend below the panels.
func (s *Sheet) columns(width float64) int {
	return max(1, min(int(vg.Length(width-2*margin)/s.legendWidth()), 3))
}

func (s *Sheet) size(width float64) (w, h float64) {
	head := headed(s.Name, s.Note, width).height()
	n := len(s.panels())
	if width >= beside {
		if n == 1 { // half as wide as two
			width = math.Max(beside, 0.62*width)
		}
		return width, head + panelHeight + 2*margin
	}
	rows := (len(s.legend()) + s.columns(width) - 1) / s.columns(width)
	return width, head + panelLow*float64(n) + entryLine*float64(rows) + 3*margin
}

func (s *Sheet) draw(c draw.Canvas) {
	width := float64(c.Max.X - c.Min.X)
	c = draw.Crop(c, margin, -margin, margin, -margin)
	headed(s.Name, s.Note, width).draw(&c)

	panels := s.panels()
	n := vg.Length(len(panels))
	if width >= beside {
		side := s.legendWidth()
		s.drawLegend(draw.Crop(c, c.Max.X-c.Min.X-side, 0, 0, -30), 1)
		each := (c.Max.X - c.Min.X - side - 16) / n
		for k, p := range panels {
			left := vg.Length(k) * each
			s.drawPanel(draw.Crop(c, left, left+each-14-(c.Max.X-c.Min.X), 0, 0), p)
		}
		return
	}
	for k, p := range panels {
		top := vg.Length(k) * panelLow
		s.drawPanel(draw.Crop(c, 0, 0, c.Max.Y-c.Min.Y-top-panelLow+10, -top), p)
	}
	s.drawLegend(draw.Crop(c, 0, 0, 0, -n*panelLow), s.columns(width))
}

func (s *Sheet) drawLegend(c draw.Canvas, columns int) {
	lines := s.legend()
	rows := (len(lines) + columns - 1) / columns
	for k := 0; k < len(lines); k += rows {
		legend := plot.NewLegend()
		legend.Top, legend.Left, legend.ThumbnailWidth = true, true, thumb
		legend.TextStyle = plain(ink)
		legend.YPosition = draw.PosCenter
		legend.Padding = entryLine - legend.TextStyle.Height("symwin")
		for _, l := range lines[k:min(k+rows, len(lines))] {
			legend.Add(l.Name, l.thumbnails()...)
		}
		legend.Draw(draw.Crop(c, vg.Length(k/rows)*s.legendWidth(), 0, 0, 0))
	}
}

func (l *Line) thumbnails() (list []plot.Thumbnailer) {
	list = append(list, &plotter.Line{LineStyle: l.Look.line()})
	if m := l.Look.marker(); m != nil {
		list = append(list, &plotter.Scatter{GlyphStyle: *m})
	}
	return list
}

func (s *Sheet) drawPanel(c draw.Canvas, panel Panel) {
	c.FillText(bold(letters), vg.Point{X: c.Min.X, Y: c.Max.Y - 11}, panel.Name)
	c.Max.Y -= 22
	// Not as the axis's label, for which plot leaves room as if the axis were linear.
	below := plain(faint)
	below.XAlign = draw.XCenter
	c.FillText(below, vg.Point{X: c.Center().X, Y: c.Min.Y + 3}, s.X)
	c.Min.Y += 20

	p := plot.New()
	p.BackgroundColor = nil
	x, y := s.axes(panel)
	for _, a := range []struct {
		axis *plot.Axis
		axes axis
	}{{&p.X, x}, {&p.Y, y}} {
		a.axis.Min, a.axis.Max = a.axes.low, a.axes.high
		a.axis.Scale, a.axis.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(a.axes.ticks)
		a.axis.Padding = 0
		a.axis.LineStyle.Color, a.axis.LineStyle.Width = faint.light, 0.8
		a.axis.Tick.LineStyle.Color, a.axis.Tick.LineStyle.Width = faint.light, 0.8
		a.axis.Tick.Length = 5
		style := plain(ink)
		style.XAlign, style.YAlign = a.axis.Tick.Label.XAlign, a.axis.Tick.Label.YAlign
		a.axis.Tick.Label = style
	}

	g := plotter.NewGrid()
	g.Vertical = draw.LineStyle{Color: grid.light, Width: 0.8}
	g.Horizontal = g.Vertical
	p.Add(g)
	for k := len(panel.Lines) - 1; k >= 0; k-- {
		l := &panel.Lines[k]
		points, m := l.points(), l.Look.marker()
		if m != nil {
			p.Add(&plotter.Scatter{XYs: points, GlyphStyle: *m})
		} else if len(points) == 1 { // a line of one point is nothing to see
			points = plotter.XYs{{X: x.low, Y: points[0].Y}, {X: x.high, Y: points[0].Y}}
		}
		p.Add(&plotter.Line{XYs: points, LineStyle: l.Look.line()})
	}
	p.Draw(c)
}
