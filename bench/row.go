package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Row is one line of results. Its JSON form is one object, with these keys in
// this order.
type Row struct {
	Op      string `json:"op"`
	Engine  string `json:"engine"` // as asked for; of limits and wait, what was measured
	Ranks   int    `json:"ranks"`
	Bytes   int64  `json:"bytes"` // what one rank sends to one peer
	Touch   string `json:"touch"`
	InPlace bool   `json:"inplace"`
	Iters   int    `json:"iters"` // operations inside the clock, in all repetitions
	Reps    int    `json:"reps"`
	summary
	Algbw figure                `json:"algbw_gbs"`
	Busbw figure                `json:"busbw_gbs"`
	Wrong *int                  `json:"wrong"`    // bytes that were not what their sender sent; nil: nothing was compared
	Limit figure                `json:"limit_us"` // of the machine, measured beside
	Of    string                `json:"limit"`    // what the limit is made of
	State string                `json:"state"`    // half a round trip of two lines, or moved
	Peers map[string]PeerFigure `json:"peers"`
	Each  []figure              `json:"reps_p50_us"` // p50 of each repetition, for whoever compares two measurements
}

// PeerFigure is what a peer reached in a row.
type PeerFigure struct {
	P50    figure `json:"p50_us"`
	Ratio  figure `json:"ratio"`            // its p50 divided by ours; above 1 we are faster
	Failed string `json:"failed,omitempty"` // why there is none
	// Dropped is the starts of a launcher that failed and do not count.
	Dropped int `json:"dropped,omitempty"`

	lied  bool     // it failed since bytes arrived wrong
	each  []figure // p50 of each repetition
	iters int      // operations inside the clock, in all repetitions
}

// ofLimit is p50 by the limit as people read it: none where there is none, and where
// the row is of no one state. That holds for any ratio.
func (r *Row) ofLimit() string {
	if !r.Limit.ok() || r.State == moved {
		return none().String()
	}
	return fmt.Sprintf("%.2f %s", float64(r.P50/r.Limit), r.Of)
}

// peer is what a peer reached, also where nothing is known of it.
func (r *Row) peer(name string) PeerFigure {
	if f, ok := r.Peers[name]; ok {
		return f
	}
	return PeerFigure{P50: none(), Ratio: none()}
}

// without says what is not in the figure, or nothing.
func (f PeerFigure) without() string {
	if f.Dropped == 0 {
		return ""
	}
	return count(f.Dropped, "start") + " ended by a broken pipe, not counted"
}

// cell is what people read: its p50, or how it failed.
func (f PeerFigure) cell() string {
	switch {
	case f.lied:
		return "wrong"
	case f.Failed != "":
		return "failed"
	}
	return f.P50.String()
}

// figure is a measured number, or NaN where there is none: null in JSON, - for
// people.
type figure float64

func none() figure { return figure(math.NaN()) }

func (f figure) ok() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// MarshalJSON rounds to what is not noise: a tenth of a nanosecond.
func (f figure) MarshalJSON() ([]byte, error) {
	if !f.ok() {
		return []byte("null"), nil
	}
	return json.Marshal(math.Round(float64(f)*1e4) / 1e4)
}

// UnmarshalJSON reads null as none.
func (f *figure) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*f = none()
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	*f = figure(v)
	return err
}

// String is f with three or four digits that count.
func (f figure) String() string {
	v := float64(f)
	if !f.ok() {
		return "-"
	}
	digits := 3
	for limit := 10.0; digits > 0 && math.Abs(v) >= limit; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// micro is t divided by units, in µs.
func micro(t time.Duration, units int) figure {
	return figure(float64(t) / float64(time.Microsecond) / float64(units))
}
