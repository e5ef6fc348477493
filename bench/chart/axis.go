package chart

import (
	"math"
	"slices"
	"strconv"

	"github.com/symwin/symwin/internal/env"
	"gonum.org/v1/plot"
)

// axis is the range of one axis and its ticks.
type axis struct {
	low, high float64
	ticks     []plot.Tick
}

func (s *Sheet) axes(p Panel) (x, y axis) {
	var xs, ys []float64
	for _, l := range p.Lines {
		for _, at := range l.points() {
			xs, ys = append(xs, at.X), append(ys, at.Y)
		}
	}
	x.low, x.high = around(xs, 1.25)
	y.low, y.high = around(ys, 1.15)
	if s.Sizes {
		x.ticks = sizeTicks(x.low, x.high)
	} else {
		x.ticks = countTicks(xs)
	}
	y.ticks = decimalTicks(y.low, y.high)
	return x, y
}

// around is the range of values with some room at both ends, and never a point.
func around(values []float64, room float64) (low, high float64) {
	low, high = slices.Min(values), slices.Max(values)
	if high < 2*low {
		mid := math.Sqrt(low * high)
		low, high = mid/math.Sqrt2, mid*math.Sqrt2
	}
	return low / room, high * room
}

// sizeTicks are powers of two; of many, every third is named, and the last if it
// is not beside one that is.
func sizeTicks(low, high float64) (ticks []plot.Tick) {
	first, last := int(math.Ceil(math.Log2(low))), int(math.Floor(math.Log2(high)))
	step := 1
	if last-first > 5 {
		step = 3
	}
	for k := max(first, 0); k <= last; k++ {
		t := plot.Tick{Value: math.Ldexp(1, k)}
		if k%step == 0 || k == last && k%step == step-1 {
			t.Label = env.FormatSize(1 << k)
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// countTicks are the numbers that there are.
func countTicks(values []float64) (ticks []plot.Tick) {
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', -1, 64)})
	}
	return ticks
}

// decimalTicks are 1, 2 and 5 times the powers of ten, of which those named are
// that many that they do not crowd.
func decimalTicks(low, high float64) (ticks []plot.Tick) {
	decades := math.Log10(high / low)
	named := map[int]bool{1: true, 2: decades < 2.2, 5: decades < 2.2}
	for k := int(math.Floor(math.Log10(low))); k <= int(math.Ceil(math.Log10(high))); k++ {
		for digit := 1; digit <= 9; digit++ {
			v := float64(digit) * math.Pow10(k)
			if v < low || v > high {
				continue
			}
			t := plot.Tick{Value: v}
			if named[digit] {
				t.Label = strconv.FormatFloat(v, 'f', max(0, -k), 64)
			}
			ticks = append(ticks, t)
		}
	}
	if len(ticks) == 0 || !slices.ContainsFunc(ticks, func(t plot.Tick) bool { return t.Label != "" }) { // less than from 5 to 10
		ticks = append(ticks, plot.Tick{Value: math.Sqrt(low * high), Label: strconv.FormatFloat(math.Sqrt(low*high), 'g', 3, 64)})
	}
	return ticks
}
