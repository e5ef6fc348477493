package bench

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/symwin/symwin/internal/env"
	terminal "golang.org/x/term"
)

// progress tells whoever sits before the terminal what is being measured and how
// long it still takes: one line, which is written before a row is begun and taken
// away before the row is written. Nothing is written while a row is measured, and
// nothing at all where there is no terminal. It is an output for the sake of the
// latter.
type progress struct {
	w             io.Writer // nil: there is no terminal
	width         func() int
	now           func() time.Duration
	all, number   int           // rows, and that of the one that is being measured
	planned, past time.Duration // by the estimate: of all rows, and of those before this one
	current       time.Duration // and of this one
	shown         bool
}

// newProgress is that of jobs, one after the other.
func newProgress(stderr io.Writer, jobs ...*job) *progress {
	p := new(progress)
	for _, j := range jobs {
		p.all += len(j.trials())
		p.planned += j.lasts()
	}
	if f, ok := stderr.(*os.File); ok && terminal.IsTerminal(int(f.Fd())) {
		begin := time.Now()
		p.w, p.now = f, func() time.Duration { return time.Since(begin) }
		p.width = func() int {
			if columns, _, err := terminal.GetSize(int(f.Fd())); err == nil && columns > 0 {
				return columns
			}
			return 80
		}
	}
	return p
}

// begin tells of the row that comes.
func (p *progress) begin(j *job, t trial) {
	if p == nil || p.w == nil {
		return
	}
	p.number, p.past, p.current = p.number+1, p.past+p.current, j.lastsRow(t)
	left := p.planned - p.past
	if p.past > 0 { // the estimate is as wrong as it was so far
		left = time.Duration(float64(left) * float64(p.now()) / float64(p.past))
	}
	text := fmt.Sprintf("row %d of %d: %s %s, %s", p.number, p.all, t.row.Op, t.row.Engine, count(t.row.Ranks, "rank"))
	if t.row.Bytes > 0 {
		text += ", " + env.FormatSize(t.row.Bytes)
	}
	text += "; " + span(left) + " left"
	if width := p.width(); len(text) >= width {
		text = text[:max(width-1, 0)]
	}
	p.clear()
	_, _ = io.WriteString(p.w, text)
	p.shown = true
}

// clear takes the line away.
func (p *progress) clear() {
	if p != nil && p.shown {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) row(Row) error          { p.clear(); return nil }
func (p *progress) tails(Row, tails) error { p.clear(); return nil }
func (p *progress) end() error             { p.clear(); return nil }
