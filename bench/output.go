package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/symwin/symwin/internal/topo"
)

// output writes what comes from the ranks, row by row, in one of the formats.
type output interface {
	row(Row) error
	// placement is told before the first row and after the last.
	placement(Placement) error
}

// formats are what --format may name.
var formats = []string{"table", "json"}

func newOutput(format string, w io.Writer, c *Config, about string) output {
	if format == "json" {
		return &jsonLines{json.NewEncoder(w)}
	}
	return &table{w: w, config: c, about: about}
}

// jsonLines is an object a row.
type jsonLines struct{ encoder *json.Encoder }

func (j *jsonLines) row(r Row) error {
	// Beyond a tenth of a nanosecond there is nothing but noise.
	round := func(us float64) float64 { return math.Round(us*1e4) / 1e4 }
	r.P50, r.P99 = round(r.P50), round(r.P99)
	return j.encoder.Encode(r)
}

func (j *jsonLines) placement(Placement) error { return nil }

// table is for people: aligned columns, and what one has to know to compare them
// in lines that begin with #.
type table struct {
	w      io.Writer
	config *Config
	about  string // the machine
	before *Placement
}

func (t *table) placement(p Placement) error {
	if t.before == nil {
		t.before = &p
		return t.header()
	}
	verdict := ", the same state as before"
	if !steady(*t.before, p) {
		verdict = fmt.Sprintf(", but %.0f before: the CPUs were moved meanwhile, measure again", t.before.HalfNS)
	}
	if p.HalfNS == 0 {
		verdict = ""
	}
	_, err := fmt.Fprintf(t.w, "# placement after: %v%s\n", p, verdict)
	return err
}

func (t *table) header() error {
	c := t.config
	op, err := findOp(c.Op)
	if err != nil {
		return err
	}
	engine := c.Engine
	if c.Op == allToAll.name {
		engine += map[string]string{
			dstWindow:  ", from private memory into a window",
			dstPrivate: ", from private memory into private memory",
		}[c.Dst]
	}
	_, err = fmt.Fprintf(t.w, `# %s: %s
# machine: %s
# ranks: %d, %s
# engine: %s
# placement before: %v
# times in µs an operation, the slowest rank's; p50 and p99 are over blocks of at least %v
# bytes: what one rank sends to one peer; GB/s (1e9): of a message, of all a rank sends, of all copiers; wrong: bytes
%-9s %-10s %6s %10s %10s %12s %12s %9s %6s
`, op.name, op.text, t.about, c.Ranks, binding(c), engine, *t.before, blockFor(c.Ranks, len(c.CPUs)),
		"# op", "engine", "ranks", "bytes", "iters", "p50_us", "p99_us", "GB/s", "wrong")
	return err
}

func (t *table) row(r Row) error {
	rate := "-"
	if op, err := findOp(r.Op); err == nil && op.total != nil && r.P50 > 0 {
		if total := op.total(r); total > 0 {
			rate = fmt.Sprintf("%.3f", float64(total)/r.P50/1e3)
		}
	}
	_, err := fmt.Fprintf(t.w, "%-9s %-10s %6d %10d %10d %12.4f %12.4f %9s %6d\n",
		r.Op, r.Engine, r.Ranks, r.Bytes, r.Iters, r.P50, r.P99, rate, r.Wrong)
	return err
}

// binding says which CPUs the ranks have, in a line of bounded length.
func binding(c *Config) string {
	const most = 8
	switch {
	case c.Op == limits.name:
		return "moved from CPU to CPU by what is measured"
	case c.Plan == nil && c.Ranks > len(c.CPUs):
		return fmt.Sprintf("not bound, on CPUs %s", topo.FormatList(c.CPUs))
	case c.Plan == nil:
		return "not bound"
	}
	text := "bound to CPUs "
	for r, cpus := range c.Plan {
		if r == most {
			return text + " | …"
		}
		if r > 0 {
			text += " | "
		}
		text += topo.FormatList(cpus)
	}
	return text
}
