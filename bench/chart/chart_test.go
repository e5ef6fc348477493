package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// element is one of an SVG, with what it needs to be found.
type element struct {
	name, text, style, d string
	x, y                 float64 // of text
}

// parsed are the texts and paths of an SVG, in the coordinates of gonum: y upwards.
func parsed(t *testing.T, svg string) (all []element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err, svg)
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local}
			for _, a := range token.Attr {
				switch a.Name.Local {
				case "style":
					e.style = a.Value
				case "d":
					e.d = a.Value
				case "x":
					e.x, _ = strconv.ParseFloat(a.Value, 64)
				case "y":
					e.y, _ = strconv.ParseFloat(a.Value, 64)
				}
			}
			all = append(all, e)
		case xml.CharData:
			if len(all) > 0 && all[len(all)-1].name == "text" {
				all[len(all)-1].text += strings.TrimSpace(string(token))
			}
		}
	}
}

func texts(all []element) (list []string) {
	for _, e := range all {
		if e.name == "text" {
			list = append(list, e.text)
		}
	}
	return list
}

// corners are how many points the longest path of a colour has, that is not filled.
func corners(all []element, look Look) (most int) {
	for _, e := range all {
		if e.name == "path" && strings.Contains(e.style, "stroke:"+hexOf(look)) {
			most = max(most, strings.Count(e.d, "L")+1)
		}
	}
	return most
}

func hexOf(l Look) string {
	r, g, b, _ := l.line().Color.RGBA()
	return fmt.Sprintf("#%02X%02X%02X", r>>8, g>>8, b>>8)
}

// example is a sheet with that many lines beside ours and the limit.
func example(others int) *Sheet {
	x := []float64{8, 64, 512, 4096, 32768, 262144, 1 << 20}
	s := &Sheet{Name: "alltoall <2 ranks>", Note: "on a machine", X: "bytes & more", Sizes: true, Panels: []Panel{{Name: "time, µs"}, {Name: "algbw, GB/s"}}}
	for k := -2; k < others; k++ {
		line := Line{Name: fmt.Sprintf("peer%d", k), Look: Look(k), X: x}
		bandwidth := line
		for i, size := range x {
			us := 0.1*float64(k+3) + size/1e4
			if k == 1 && i == 2 {
				us = math.NaN()
			}
			line.Y, bandwidth.Y = append(line.Y, us), append(bandwidth.Y, size/us/1e3)
		}
		s.Panels[0].Lines = append(s.Panels[0].Lines, line)
		s.Panels[1].Lines = append(s.Panels[1].Lines, bandwidth)
	}
	return s
}

func TestSheetShowsEveryLine(t *testing.T) {
	for _, width := range []float64{Wide, Narrow} {
		var b bytes.Buffer
		require.NoError(t, SVG(&b, example(6), width))
		all := parsed(t, b.String())
		seen := texts(all)
		for _, want := range []string{"alltoall <2 ranks>", "on a machine", "time, µs", "algbw, GB/s", "bytes & more",
			"8", "64", "512", "4K", "32K", "256K", "1M", "0.1", "1", "10", "100", "peer-2", "peer-1", "peer0", "peer5"} {
			require.Contains(t, seen, want, "at width %v", width)
		}
		for look := Limit; look < 6; look++ {
			want := 7
			if look == 1 { // the size that it has no figure of is left out
				want = 6
			}
			require.Equal(t, want, corners(all, look), "of line %d at width %v", look, width)
		}
	}
}

// TestNothingStandsOverTheLines: neither the legend nor a label is inside a panel.
func TestNothingStandsOverTheLines(t *testing.T) {
	number := regexp.MustCompile(`[ML]([-0-9.e+]+),([-0-9.e+]+)`)
	for _, others := range []int{1, 6} {
		for _, width := range []float64{Wide, Narrow} {
			var b bytes.Buffer
			s := example(others)
			require.NoError(t, SVG(&b, s, width))
			all := parsed(t, b.String())
			_, height := s.size(width)
			type box struct{ left, right, low, high float64 }
			var boxes []box
			for _, e := range all {
				if !strings.Contains(e.style, "stroke:"+hexOf(Ours)) || strings.Count(e.d, "L") < 6 {
					continue
				}
				line := box{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
				for _, at := range number.FindAllStringSubmatch(e.d, -1) {
					x, err := strconv.ParseFloat(at[1], 64)
					require.NoError(t, err)
					y, err := strconv.ParseFloat(at[2], 64)
					require.NoError(t, err)
					line = box{min(line.left, x), max(line.right, x), min(line.low, y), max(line.high, y)}
				}
				boxes = append(boxes, line)
			}
			require.Len(t, boxes, 2, "panels")
			for _, e := range all {
				if e.name != "text" {
					continue
				}
				x, y := e.x, -e.y
				require.True(t, x >= 0 && x <= width && y >= 0 && y <= height, "%q stands outside, at %v, %v", e.text, x, y)
				for _, in := range boxes {
					require.False(t, x > in.left && x < in.right && y > in.low && y < in.high, "%q stands over the lines, at %v, %v", e.text, x, y)
				}
			}
		}
	}
}

func TestLooksDifferWithoutColour(t *testing.T) {
	seen := map[string]Look{}
	for look := Limit; int(look) < len(others); look++ {
		is := fmt.Sprintf("%v %T", look.line().Dashes, nil)
		if m := look.marker(); m != nil {
			is = fmt.Sprintf("%v %T", look.line().Dashes, m.Shape)
		}
		require.NotContains(t, seen, is, "%d is drawn as another", look)
		seen[is] = look
	}
	require.Equal(t, Look(1).line(), Look(1+len(others)).line(), "after the last comes the first")
}

// TestPaintsStandOut: 3:1 is what WCAG asks of lines.
func TestPaintsStandOut(t *testing.T) {
	for _, p := range append([]paint{ink, faint, blue}, others...) {
		require.Greater(t, (1+0.05)/(luminance(p.light)+0.05), 3.0, "%s on white", p.name)
		require.Greater(t, (luminance(p.dark)+0.05)/(luminance(rgb(0x16171A))+0.05), 3.0, "%s on dark", p.name)
	}
}

func TestInlineIsInThePagesColours(t *testing.T) {
	text, err := Inline(example(6), Wide)
	require.NoError(t, err)
	require.NotContains(t, text, "#", "a colour that is not the page's")
	require.NotContains(t, text, "<?xml")
	require.NotContains(t, text, "<rect")
	require.Contains(t, text, "<title>alltoall &lt;2 ranks&gt;</title>")
	for _, p := range paints {
		require.Contains(t, text, "var(--"+p.name+")")
		require.Equal(t, 2, strings.Count(Style(), "--"+p.name+":"), "light and dark")
	}
}

func TestPNGHasTwoPixelsForOne(t *testing.T) {
	var b bytes.Buffer
	s := example(1)
	require.NoError(t, PNG(&b, s, Narrow))
	c, err := png.DecodeConfig(&b)
	require.NoError(t, err)
	w, h := s.size(Narrow)
	require.Equal(t, int(2*w), c.Width)
	require.InDelta(t, 2*h, c.Height, 1)
}

func TestHeatHasItsNumbers(t *testing.T) {
	nan := math.NaN()
	h := &Heat{Name: "Core to core", Labels: []string{"0", "3", "70"}, Cells: [][]float64{{nan, 45.4, 110}, {45.4, nan, 247}, {110, 247, nan}}}
	for _, width := range []float64{Wide, Narrow} {
		var b bytes.Buffer
		require.NoError(t, SVG(&b, h, width))
		all := parsed(t, b.String())
		require.ElementsMatch(t, []string{"Core to core", "0", "0", "3", "3", "70", "70", "45", "45", "110", "110", "247", "247"}, texts(all))
		require.Contains(t, b.String(), strings.ToUpper(hex(ramp[0])), "the least is the lightest")
		require.Contains(t, b.String(), strings.ToUpper(hex(ramp[len(ramp)-1])), "the most is the darkest")
	}
	big := &Heat{Name: "Core to core", Labels: make([]string, 64), Cells: make([][]float64, 64)}
	for k := range big.Cells {
		big.Cells[k] = make([]float64, 64)
		for l := range big.Cells[k] {
			big.Cells[k][l] = 100
		}
	}
	w, _ := big.size(Narrow)
	require.Greater(t, w, 64.0*cellSmall, "cells do not shrink until nobody can read them")
	text, err := Inline(big, Narrow)
	require.NoError(t, err)
	require.Contains(t, text, fmt.Sprintf("min-width:%.0fpx", w), "nor does a page shrink them")
}

func TestNothingToDraw(t *testing.T) {
	require.True(t, (&Sheet{}).Empty())
	require.True(t, (&Sheet{Panels: []Panel{{Lines: []Line{{X: []float64{8}, Y: []float64{math.NaN()}}}}}}).Empty())
	require.False(t, example(0).Empty())
	require.True(t, (&Heat{Labels: []string{"0"}, Cells: [][]float64{{math.NaN()}}}).Empty())
}

// TestOnePoint: an axis of one value is no point.
func TestOnePoint(t *testing.T) {
	for _, v := range []float64{1e-4, 0.00731, 1, 7, 1e6} {
		s := &Sheet{X: "ranks", Panels: []Panel{{Lines: []Line{{Name: "a", Look: Ours, X: []float64{3}, Y: []float64{v}}}}}}
		x, y := s.axes(s.Panels[0])
		require.Less(t, x.low, x.high)
		require.Less(t, y.low, y.high)
		named := 0
		for _, tick := range y.ticks {
			if tick.Label != "" {
				named++
			}
		}
		require.Positive(t, named, "for %v", v)
		require.Equal(t, "3", x.ticks[0].Label)

		// What has no markers goes from side to side.
		s.Panels[0].Lines = append(s.Panels[0].Lines, Line{Name: "limit", Look: Limit, X: []float64{3}, Y: []float64{v / 2}})
		var b bytes.Buffer
		require.NoError(t, SVG(&b, s, Wide))
		drawn := 0
		for _, e := range parsed(t, b.String()) {
			if e.name == "path" && strings.Contains(e.style, "dasharray") && strings.Contains(e.d, "L") {
				drawn++
			}
		}
		require.Equal(t, 2, drawn, "in the panel and in the legend")
	}
}
