package chart_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/symwin/symwin/bench/chart"
)

func ExampleSVG() {
	s := &chart.Sheet{
		Name: "latency, 2 ranks", X: "bytes", Sizes: true,
		Panels: []chart.Panel{{Name: "half a round trip, µs", Lines: []chart.Line{
			{Name: "symwin", Look: chart.Ours, X: []float64{8, 512, 32768}, Y: []float64{0.14, 0.38, 4.4}},
			{Name: "limit", Look: chart.Limit, X: []float64{8, 512, 32768}, Y: []float64{0.11, 0.12, 0.3}},
		}}},
	}
	name := filepath.Join(os.TempDir(), "latency.svg")
	f, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	defer os.Remove(name)
	defer f.Close()
	fmt.Println(chart.SVG(f, s, chart.Wide))
	// Output: <nil>
}
