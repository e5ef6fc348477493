package bench

import (
	"fmt"
	"io"
	"strings"
)

// table is for people: aligned columns, with as few of them as the operation
// needs.
type table struct {
	w       io.Writer
	job     *job
	columns []column
	pairs   map[string]figure // of limits: its pairs of CPUs
	failed  failures
}

// column is one of a table's.
type column struct {
	title string
	width int
	cell  func(Row) string
}

func newTable(w io.Writer, j *job, m Meta) (output, error) {
	if err := header(w, j, m); err != nil {
		return nil, err
	}
	t := &table{w: w, job: j, pairs: map[string]figure{}, failed: failures{}}
	add := func(title string, width int, cell func(Row) string) {
		t.columns = append(t.columns, column{title, width, cell})
	}
	if j.op.trials != nil {
		add("what", 22, func(r Row) string { return r.Engine })
		add("ranks", 6, func(r Row) string { return fmt.Sprint(r.Ranks) })
	}
	if len(j.sizes) > 0 {
		add("bytes", 10, func(r Row) string { return fmt.Sprint(r.Bytes) })
	}
	add("iters", 10, func(r Row) string { return fmt.Sprint(r.Iters) })
	for _, f := range []struct {
		title string
		value func(Row) figure
	}{
		{"min", func(r Row) figure { return r.Min }}, {"avg", func(r Row) figure { return r.Avg }},
		{"p50", func(r Row) figure { return r.P50 }}, {"p99", func(r Row) figure { return r.P99 }},
		{"max", func(r Row) figure { return r.Max }},
	} {
		add(f.title, 8, func(r Row) string { return f.value(r).String() })
	}
	if len(j.sizes) > 0 {
		add("algbw", 7, func(r Row) string { return r.Algbw.String() })
	}
	if j.op.bus != nil {
		add("busbw", 7, func(r Row) string { return r.Busbw.String() })
	}
	if j.op.moved != nil || j.op.bare != nil {
		add("of limit", 21, func(r Row) string { return r.ofLimit() })
	}
	for _, name := range j.peers {
		if m.Peers[name].missing { // the header says so
			continue
		}
		add(name, 9, func(r Row) string { return r.peer(name).cell() })
		if m.Peers[name].cannot {
			continue
		}
		add("×", 6, func(r Row) string {
			if ratio := r.peer(name).Ratio; ratio.ok() {
				return fmt.Sprintf("%.2f", float64(ratio))
			}
			return "-"
		})
	}
	add("state", 7, func(r Row) string { return r.State })
	add("#wrong", 7, func(r Row) string {
		if r.Wrong == nil {
			return "-"
		}
		return fmt.Sprint(*r.Wrong)
	})
	return t, t.line("#", func(c column) string { return c.title })
}

// line writes one, after a first character that tells titles from rows.
func (t *table) line(first string, cell func(column) string) error {
	for k, c := range t.columns {
		if k == 0 && t.job.op.trials != nil {
			c.width = -c.width // words
		}
		first += fmt.Sprintf(" %*s", c.width, cell(c))
	}
	_, err := fmt.Fprintln(t.w, strings.TrimRight(first, " "))
	return err
}

func (t *table) row(r Row) error {
	if strings.HasPrefix(r.Engine, twoLines) {
		if t.pairs[r.Engine] = r.P50; len(t.job.CPUs) > fewCPUs {
			return nil
		}
	}
	if err := t.failed.tell(t.w, t.job.peers, r); err != nil {
		return err
	}
	return t.line(" ", func(c column) string { return c.cell(r) })
}

func (t *table) tails(r Row, s tails) error { return comment(t.w, "%s", s.line(r)) }

func (t *table) end() error {
	if len(t.pairs) == 0 {
		return nil
	}
	return matrix(t.w, t.job.CPUs, t.pairs)
}
