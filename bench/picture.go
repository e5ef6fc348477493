package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/symwin/symwin/bench/chart"
	"github.com/symwin/symwin/bench/peers"
)

// pictures are what --plot can write, by the end of the file's name.
var pictures = map[string]func(w io.Writer, d chart.Drawing, width float64) error{".svg": chart.SVG, ".png": chart.PNG}

// pictureKind is the end of name, if it is one of pictures.
func pictureKind(name string) (string, error) {
	kind := strings.ToLower(filepath.Ext(name))
	if pictures[kind] == nil {
		return "", fmt.Errorf("%q ends in neither .svg nor .png", name)
	}
	return kind, nil
}

// drawable says why there is nothing to draw of a job.
func (j *job) drawable() error {
	switch {
	case j.op == limits && len(j.CPUs) < 2:
		return errors.New("there is one usable CPU, and no way from core to core to draw; leave out --plot")
	case j.op != limits && j.op != wait && len(j.sizes) == 0:
		return fmt.Errorf("%s has no sizes to draw it over; leave out --plot", j.op.name)
	}
	return nil
}

// draw writes the picture that --plot asks for.
func (p *chapter) draw(w io.Writer) error {
	kind, err := pictureKind(p.job.plot)
	if err != nil {
		return err
	}
	name := strings.Join(nonempty(p.job.op.name, p.job.circumstances()), ", ")
	if p.job.op == limits {
		return pictures[kind](w, heat(p.job.CPUs, p.rows), chart.Wide)
	}
	s := sheet(p.job, name, p.rows)
	s.Note = strings.Join(nonempty(p.meta.Host, p.meta.CPU, p.meta.Bind, stateRange(p.rows)), "; ")
	return pictures[kind](w, s, chart.Wide)
}

// circumstances are what all rows of a job have in common.
func (j *job) circumstances() string {
	text := []string{count(j.Ranks, "rank")}
	if j.op == wait {
		text = nil
	}
	if j.op.total != nil {
		text = append(text, "touch "+j.touch)
	}
	if j.inPlace {
		text = append(text, "in place")
	}
	if j.dst == dstPrivate {
		text = append(text, "private memory")
	}
	return strings.Join(text, ", ")
}

// overRanks says whether j's rows differ by their number of ranks instead of by
// their size.
func (j *job) overRanks() bool { return len(j.sizes) == 0 }

// sheet is rows of one operation: its engines, or the one with the peers; the
// limit; their time and, where there are rates, their bandwidth.
func sheet(j *job, name string, rows []Row) *chart.Sheet {
	s := &chart.Sheet{Name: name, X: "bytes", Sizes: true}
	x := func(r Row) float64 { return float64(r.Bytes) }
	switch {
	case j.overRanks():
		s.X, s.Sizes = "ranks", false
		x = func(r Row) float64 { return float64(r.Ranks) }
	case j.op.total != nil && j.op.pairs:
		s.X = "bytes of a message"
	case j.op.bus != nil && j.op != allReduce:
		s.X = "bytes from one rank to one peer"
	case j.op.total != nil:
		s.X = "bytes of the vector"
	}
	time := "time, µs"
	if j.op == latency || j.op == put {
		time = "half a round trip, µs"
	}
	s.Panels = append(s.Panels, chart.Panel{Name: time, Lines: lines(rows, x, func(r Row, us figure) figure { return us })})
	if j.op.total != nil {
		s.Panels = append(s.Panels, chart.Panel{Name: "algbw, GB/s", Lines: lines(rows, x, func(r Row, us figure) figure { return r.Algbw * r.P50 / us })})
	}
	return s
}

// lines are what rows have of one figure, y of a time: a line for each engine,
// each peer and the limit.
func lines(rows []Row, x func(Row) float64, y func(r Row, us figure) figure) (list []chart.Line) {
	add := func(name string, look chart.Look, of []Row, us func(Row) figure) {
		l := chart.Line{Name: name, Look: look}
		for _, r := range of {
			l.X, l.Y = append(l.X, x(r)), append(l.Y, float64(y(r, us(r))))
		}
		list = append(list, l)
	}
	for k, engine := range enginesOf(rows) {
		name := "symwin"
		if len(enginesOf(rows)) > 1 {
			name = engine
		}
		add(name, look(k), slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Engine != engine }), func(r Row) figure { return r.P50 })
	}
	first := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Engine != rows[0].Engine })
	add("limit", chart.Limit, first, func(r Row) figure { return r.Limit })
	for k, name := range peers.Names {
		add(name, chart.Other+chart.Look(k), first, func(r Row) figure { return r.peer(name).P50 })
	}
	return list
}

// look is that of the k-th line of ours.
func look(k int) chart.Look {
	if k == 0 {
		return chart.Ours
	}
	return chart.Other + chart.Look(k-1)
}

// enginesOf are the engines of rows in their order.
func enginesOf(rows []Row) (names []string) {
	for _, r := range rows {
		if !slices.Contains(names, r.Engine) {
			names = append(names, r.Engine)
		}
	}
	return names
}

// heat is the core-to-core matrix of the rows of limits.
func heat(cpus []int, rows []Row) *chart.Heat {
	h := &chart.Heat{Name: "Core to core, ns", Note: "half a round trip of one cache line in each direction (" + twoLines + ") between any two CPUs"}
	for _, a := range cpus {
		h.Labels = append(h.Labels, fmt.Sprint(a))
		cells := make([]float64, len(cpus))
		for k, b := range cpus {
			cells[k] = math.NaN()
			for _, r := range rows {
				if r.Engine == pairName(min(a, b), max(a, b)) {
					cells[k] = 1e3 * float64(r.P50)
				}
			}
		}
		h.Cells = append(h.Cells, cells)
	}
	return h
}

// copySheet is the bandwidth of plain copies by the rows of limits, of one CPU and
// of all.
func copySheet(rows []Row) *chart.Sheet {
	s := &chart.Sheet{Name: "plain copies", X: "bytes, of each CPU", Sizes: true}
	panel := chart.Panel{Name: "copied, GB/s"}
	byRanks := map[int]*chart.Line{}
	for _, r := range rows {
		if !strings.HasPrefix(r.Engine, copying) {
			continue
		}
		l := byRanks[r.Ranks]
		if l == nil {
			l = &chart.Line{Name: count(r.Ranks, "CPU"), Look: look(len(byRanks))}
			byRanks[r.Ranks] = l
		}
		l.X, l.Y = append(l.X, float64(r.Bytes)), append(l.Y, float64(r.Algbw))
	}
	for _, l := range byRanks {
		panel.Lines = append(panel.Lines, *l)
	}
	slices.SortFunc(panel.Lines, func(a, b chart.Line) int { return cmp.Compare(a.Look, b.Look) })
	s.Panels = []chart.Panel{panel}
	return s
}

// stateRange says in which states rows were measured.
func stateRange(rows []Row) string {
	low, high := math.Inf(1), math.Inf(-1)
	restless := false
	for _, r := range rows {
		var ns float64
		if _, err := fmt.Sscanf(r.State, "%fns", &ns); err == nil {
			low, high = math.Min(low, ns), math.Max(high, ns)
		}
		restless = restless || r.State == moved
	}
	var text []string
	switch {
	case low == high:
		text = append(text, fmt.Sprintf("%.0f ns", low))
	case low < high:
		text = append(text, fmt.Sprintf("%.0f to %.0f ns", low, high))
	}
	if restless {
		text = append(text, moved)
	}
	if text == nil {
		return ""
	}
	return "state " + strings.Join(text, ", ")
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func nonempty(words ...string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}
