package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Drawing is a [Sheet] or a [Heat].
type Drawing interface {
	// Title says what it shows, in one line.
	Title() string
	// size is what it takes where there is room for width; it may take less.
	size(width float64) (w, h float64)
	draw(c draw.Canvas)
}

// Wide and Narrow are widths to draw at: of a page, and of a telephone, whose
// smallest have 360.
const (
	Wide   = 1040
	Narrow = 336
)

// SVG writes d as a file of its own, on white.
func SVG(w io.Writer, d Drawing, width float64) error {
	text, err := render(d, width, true)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// Inline is d as an element for a page of HTML, which has [Style] among its
// styles: without a ground, and in the page's colours.
func Inline(d Drawing, width float64) (string, error) {
	text, err := render(d, width, false)
	for _, p := range paints {
		text = strings.ReplaceAll(text, hex(p.light), "var(--"+p.name+")")
	}
	return text, err
}

// PNG writes d with two pixels for each unit of width.
func PNG(w io.Writer, d Drawing, width float64) error {
	x, y := d.size(width)
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(x), vg.Length(y)), vgimg.UseDPI(2*72), vgimg.UseBackgroundColor(color.White))
	d.draw(draw.New(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// family begins with the letters that the widths were reckoned with; the others
// have the same.
const family = "'Liberation Sans',Arial,Helvetica,sans-serif"

// perText is what vgsvg writes at each text and is said once here.
var perText = strings.NewReplacer("font-family:Liberation Sans;", "", "font-variant:normal;", "", "font-variant:none;", "",
	"font-weight:normal;", "", "font-style:normal;", "", "font-style:normal\"", "\"")

func render(d Drawing, width float64, ground bool) (string, error) {
	x, y := d.size(width)
	canvas := vgsvg.New(vg.Length(x), vg.Length(y))
	d.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	// vgsvg's head has sizes in points and no title.
	_, body, found := strings.Cut(b.String(), "<g ")
	if !found {
		return "", fmt.Errorf("chart: an SVG without a group")
	}
	style := "font-family:" + family
	if x > width { // to be scrolled; a page that shrank it would make it illegible
		style += fmt.Sprintf(";min-width:%.0fpx", x)
	}
	title := html.EscapeString(d.Title())
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s" style="%s">`+"\n<title>%s</title>\n",
		x, y, x, y, title, style, title)
	if ground {
		head += `<rect width="100%" height="100%" style="fill:#FFFFFF"/>` + "\n"
	}
	return head + "<g " + perText.Replace(body), nil
}
