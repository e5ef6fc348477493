package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symwin/symwin/bench/chart"
	"github.com/symwin/symwin/bench/peers"
	"github.com/symwin/symwin/bench/report"
	"github.com/symwin/symwin/internal/env"
)

// document makes a report of parts that were measured when; the first tells where
// and with what.
func document(parts []*chapter, when time.Time) *report.Report {
	m := parts[0].meta
	r := &report.Report{Title: "symwin on " + m.Host}
	if len(parts) == 1 {
		r.Title = parts[0].job.op.name + ": " + r.Title
	}
	fact := func(name, text string) {
		if text != "" {
			r.Facts = append(r.Facts, report.Fact{Name: name, Text: text})
		}
	}
	var rows []Row
	for _, p := range parts {
		rows = append(rows, p.rows...)
	}
	fact("host", m.Host)
	fact("CPU", m.CPU)
	fact("kernel", m.Kernel)
	fact("Go", m.Go)
	fact("symwin", m.Commit)
	fact("command", m.Command)
	fact("binding", m.Bind)
	fact("state", strings.TrimPrefix(stateRange(rows), "state "))
	fact("measured", when.Format("2006-01-02 15:04 MST"))
	r.Notes = warnings(parts)
	r.Peers = peersOf(parts)
	for _, p := range parts {
		k := slices.IndexFunc(r.Sections, func(s report.Section) bool { return s.Name == p.job.op.name })
		if k < 0 {
			k = len(r.Sections)
			r.Sections = append(r.Sections, report.Section{Name: p.job.op.name, Text: paragraph(p.job)})
			r.Sections[k].Groups = groupsOf(slices.DeleteFunc(slices.Clone(parts), func(q *chapter) bool { return q.job.op != p.job.op }))
		}
	}
	return r
}

// warnings are what a reader must know before any figure.
func warnings(parts []*chapter) (notes []string) {
	wrong, restless, failed := 0, 0, 0
	for _, p := range parts {
		for _, r := range p.rows {
			if r.Wrong != nil {
				wrong += *r.Wrong
			}
			if r.State == moved {
				restless++
			}
		}
		if p.failed != "" {
			failed++
		}
	}
	if wrong > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes arrived wrong: nothing here can be trusted before that is explained.", wrong))
	}
	if failed > 0 {
		notes = append(notes, fmt.Sprintf("Of %s, %d did not come to an end; what they lack is said there.", count(len(parts), "part"), failed))
	}
	if restless > 0 {
		notes = append(notes, fmt.Sprintf("In %s the placement of the CPUs would not settle (state %q): they have no ratios.", count(restless, "row"), moved))
	}
	return notes
}

// peersOf is each peer once, as where it was measured first.
func peersOf(parts []*chapter) (list []report.Peer) {
	for _, name := range peers.Names {
		about, asked := report.Peer{Name: name}, false
		for _, p := range parts {
			if m, here := p.meta.Peers[name]; here && about.Version == "" {
				about.Version, about.Command, about.Note, asked = m.Version, m.Command, m.Note, true
			}
		}
		if asked {
			list = append(list, about)
		}
	}
	return list
}

// paragraph tells how an operation is measured.
func paragraph(j *job) string {
	text := upperFirst(j.op.text) + ". "
	switch {
	case j.op == limits:
		return text + "Every other figure is to be compared with these: they are measured with nothing of symwin inside the clock. " +
			oneLine + " and " + twoLines + " are half a round trip of one cache line, written by both sides or one in each direction; " +
			yielding + " and " + sleeping + " hand one CPU over; " + copying + " is the fastest plain loop that this processor has for a size, named behind it."
	case j.op.own != nil:
		return text + "Each time is of one start, in turns with the bare limit (" + bareName + ") and the peers."
	}
	text += fmt.Sprintf("Operations run back to back in %s; a block took as long as its slowest rank says, and p50, p99, min and max are over blocks. ", j.blocks())
	if len(j.peers) > 0 {
		text += fmt.Sprintf("A row is %s, in turns with its limit and each peer, between looks at the placement of the CPUs. ", count(j.reps, "repetition"))
	}
	if j.op.moved != nil {
		text += "The limit is a line exchange between those CPUs, or, where ranks share them, a hand-off for each rank on a CPU; above 64 bytes also plain copies of all bytes that must move. "
	}
	if j.op.total != nil {
		text += "algbw is the operation's size by its time"
		if j.op.bus != nil {
			text += ", busbw that by nccl-tests' factor"
		}
		text += ". "
	}
	switch {
	case j.op.trials != nil: // no data
	case j.check:
		text += "Data changes from round to round and is compared byte for byte outside the clock."
	default:
		text += "What arrived was not looked at."
	}
	return strings.TrimSpace(text)
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// groupsOf are the parts of one operation, those together that belong into one
// table: the same ranks and touch, by whichever engine; without sizes, all.
func groupsOf(parts []*chapter) (groups []report.Group) {
	same := func(a, b *chapter) bool {
		return a.job.overRanks() && b.job.overRanks() || a.job.circumstances() == b.job.circumstances()
	}
	for len(parts) > 0 {
		first, rest := parts[0], []*chapter{}
		var group []*chapter
		for _, p := range parts {
			if same(first, p) {
				group = append(group, p)
			} else {
				rest = append(rest, p)
			}
		}
		groups = append(groups, groupOf(group)...)
		parts = rest
	}
	return groups
}

func groupOf(parts []*chapter) []report.Group {
	j := parts[0].job
	g := report.Group{Name: j.circumstances()}
	if j.overRanks() || j.op == limits {
		g.Name = ""
	}
	var rows []Row
	var tails []single
	for _, p := range parts {
		rows, tails = append(rows, p.rows...), append(tails, p.singles...)
		for _, r := range p.rows {
			for _, name := range p.job.peers {
				if without := r.peer(name).without(); without != "" {
					g.Problems = append(g.Problems, fmt.Sprintf("%s, %s: %s", name, count(r.Ranks, "rank"), without))
				}
			}
		}
		if p.failed != "" {
			g.Problems = append(g.Problems, fmt.Sprintf("%s: %s", p.meta.Command, p.failed))
		}
		g.Commands = append(g.Commands, p.meta.Command)
		for _, name := range p.job.peers {
			if c := p.meta.Peers[name].Command; c != "" {
				g.Commands = append(g.Commands, name+": "+c)
			}
		}
	}
	if len(rows) > 0 {
		g.Drawings, g.Table = drawings(j, rows), tableOf(j, rows)
	}
	groups := []report.Group{g}
	if len(tails) > 0 {
		groups = append(groups, report.Group{Name: tails[0].what(), Table: tailsOf(tails)})
	}
	return groups
}

// drawings are what can be drawn of rows of one table: a single point cannot.
func drawings(j *job, rows []Row) (list []chart.Drawing) {
	if j.op == limits {
		if h := heat(j.CPUs, rows); !h.Empty() {
			list = append(list, h)
		}
		if s := copySheet(rows); !s.Empty() {
			list = append(list, s)
		}
		return list
	}
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Bytes != rows[0].Bytes || r.Ranks != rows[0].Ranks }) {
		return nil
	}
	first := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Engine != rows[0].Engine })
	engines := len(enginesOf(rows)) > 1
	if !engines || slices.ContainsFunc(first, func(r Row) bool { return len(r.Peers) > 0 }) {
		name := j.op.name + " beside others"
		if j.op.moved != nil || j.op.bare != nil {
			name = j.op.name + " beside its limit and others"
		}
		list = append(list, sheet(j, name, first))
	}
	if engines {
		alone := slices.Clone(rows)
		for k := range alone {
			alone[k].Peers = nil
		}
		name := j.op.name + ", engine by engine"
		if j.op == wait {
			name = "ways to wait"
		}
		list = append(list, sheet(j, name, alone))
	}
	return list
}

// tableOf is rows, with as few columns as they need.
func tableOf(j *job, rows []Row) (t report.Table) {
	var cells []func(Row) report.Cell
	add := func(title string, cell func(Row) report.Cell) {
		t.Columns, cells = append(t.Columns, title), append(cells, cell)
	}
	text := func(title string, of func(Row) string) {
		add(title, func(r Row) report.Cell { return report.Cell{Text: of(r)} })
	}
	number := func(title string, of func(Row) figure) { text(title, func(r Row) string { return of(r).String() }) }
	any := func(is func(Row) bool) bool { return slices.ContainsFunc(rows, is) }

	if j.op.trials != nil {
		text("what", func(r Row) string { return r.Engine })
	}
	if j.overRanks() || j.op == limits {
		text("ranks", func(r Row) string { return fmt.Sprint(r.Ranks) })
	}
	if len(j.sizes) > 0 {
		text("bytes", func(r Row) string { return env.FormatSize(r.Bytes) })
	}
	if len(enginesOf(rows)) > 1 && j.op.trials == nil {
		text("engine", func(r Row) string { return r.Engine })
	}
	number("p50, µs", func(r Row) figure { return r.P50 })
	number("min", func(r Row) figure { return r.Min })
	number("p99", func(r Row) figure { return r.P99 })
	number("max", func(r Row) figure { return r.Max })
	if any(func(r Row) bool { return r.Algbw.ok() }) {
		number("algbw, GB/s", func(r Row) figure { return r.Algbw })
	}
	if j.op.bus != nil {
		number("busbw", func(r Row) figure { return r.Busbw })
	}
	if any(func(r Row) bool { return r.Limit.ok() }) {
		text("of limit", func(r Row) string { return r.ofLimit() })
	}
	for _, name := range peers.Names {
		if !any(func(r Row) bool { return r.peer(name).P50.ok() || r.peer(name).Failed != "" }) {
			continue
		}
		add(name+", µs", func(r Row) report.Cell {
			c := report.Cell{Text: r.peer(name).cell()}
			if r.peer(name).Failed != "" {
				c.Mark = report.Bad
			}
			return c
		})
		add("×", func(r Row) report.Cell { return ratioCell(r.peer(name).Ratio) })
	}
	text("state", func(r Row) string { return r.State })
	add("#wrong", func(r Row) report.Cell {
		switch {
		case r.Wrong == nil:
			return report.Cell{Text: "-"}
		case *r.Wrong > 0:
			return report.Cell{Text: fmt.Sprint(*r.Wrong), Mark: report.Bad}
		}
		return report.Cell{Text: "0"}
	})
	for _, r := range rows {
		line := make([]report.Cell, len(cells))
		for k, cell := range cells {
			if line[k] = cell(r); line[k].Text == "-" {
				line[k].Mark = report.Dim
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// ratioCell is how many times longer a peer takes.
func ratioCell(ratio figure) report.Cell {
	if !ratio.ok() {
		return report.Cell{Text: "-"}
	}
	c := report.Cell{Text: fmt.Sprintf("%.2f", float64(ratio))}
	switch {
	case ratio >= 1.05:
		c.Mark = report.Good
	case ratio < 0.95:
		c.Mark = report.Bad
	}
	return c
}

// tailsOf is the times of single operations.
func tailsOf(list []single) (t report.Table) {
	t.Columns = []string{"bytes", "p50, µs", "p90", "p99", "p99.9", "p99.99", "max", "of them", "clock taken off, ns"}
	for _, s := range list {
		var line []report.Cell
		for _, text := range []string{env.FormatSize(s.row.Bytes), s.P50.String(), s.P90.String(), s.P99.String(), s.P999.String(), s.P9999.String(), s.Max.String(), fmt.Sprint(s.Count), fmt.Sprintf("%.0f", s.Clock)} {
			line = append(line, report.Cell{Text: text})
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}
