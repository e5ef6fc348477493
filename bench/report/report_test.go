package report_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/bench/chart"
	"github.com/symwin/symwin/bench/report"
)

const nasty = `</td><script>alert("&amp;")</script>`

// TestTextStaysText: whatever a host or a command is called.
func TestTextStaysText(t *testing.T) {
	s := &chart.Sheet{Name: nasty, Note: nasty, X: nasty, Panels: []chart.Panel{{Name: nasty, Lines: []chart.Line{{Name: nasty, X: []float64{1}, Y: []float64{1}}}}}}
	r := &report.Report{
		Title: nasty, Facts: []report.Fact{{Name: nasty, Text: nasty}}, Notes: []string{nasty},
		Peers: []report.Peer{{Name: nasty, Version: nasty, Command: nasty, Note: nasty}},
		Sections: []report.Section{{Name: nasty, Text: nasty, Groups: []report.Group{{
			Name: nasty, Problems: []string{nasty}, Drawings: []chart.Drawing{s}, Commands: []string{nasty},
			Table: report.Table{Columns: []string{nasty}, Rows: [][]report.Cell{{{Text: nasty, Mark: report.Bad}}}},
		}}}, {Name: "another"}},
	}
	var b bytes.Buffer
	require.NoError(t, r.Write(&b))
	require.NotContains(t, b.String(), "<script")
	require.Contains(t, b.String(), "alert(")

	d := xml.NewDecoder(&b)
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta"}, xml.HTMLEntity
	open := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		switch token.(type) {
		case xml.StartElement:
			open++
		case xml.EndElement:
			open--
		}
	}
	require.Zero(t, open, "every element is closed")
}

func ExampleReport() {
	r := &report.Report{
		Title: "latency on box",
		Facts: []report.Fact{{Name: "CPU", Text: "Some CPU"}},
		Sections: []report.Section{{Name: "latency", Text: "Half a round trip.", Groups: []report.Group{{
			Table: report.Table{Columns: []string{"bytes", "µs"}, Rows: [][]report.Cell{{{Text: "8"}, {Text: "0.14"}}}},
		}}}},
	}
	var page strings.Builder
	if err := r.Write(&page); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(page.String(), "<td>0.14</td>"))
	// Output: true
}
