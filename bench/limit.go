package bench

import (
	"context"
	"fmt"
	"strings"
)

// limit is the least that the machine would take for a row: the exchange that
// tells the ranks of each other, and the bytes that must be moved.
type limit struct {
	terms []term
}

// term is one part of a limit.
type term struct {
	name    string
	subject subject // measured beside the row; nil: the placement is the figure
	times   float64
	close   func(context.Context) error
}

// exchangeBytes is the largest message that comes with the exchange itself.
const exchangeBytes = 64

// limit is that of one row, its stints open. Their memory is beside the windows.
func (d *driver) limit(ctx context.Context, t trial) (*limit, error) {
	l := new(limit)
	add := func(name string, id int, times float64, t task) error {
		s, err := d.crew.open(ctx, id, t)
		l.terms = append(l.terms, term{name, short{s}, times, s.close})
		return err
	}
	if d.op.bare != nil {
		l.terms = append(l.terms, term{bareName, d.op.bare(d.job), 1, nothing})
	}
	if d.op.moved == nil {
		return l, nil
	}
	if cpus := len(d.CPUs); d.shared() {
		turns := float64((d.Ranks + cpus - 1) / cpus)
		cpu := d.CPUs[0]
		if err := add(fmt.Sprintf("%.0f×%s", turns, yielding), idExchange, turns, task{Op: yielding, CPUs: []int{cpu, cpu}}); err != nil {
			return nil, err
		}
	} else if d.Ranks > 1 {
		l.terms = append(l.terms, term{twoLines, nil, 1, nothing})
	}
	if copiers, each := d.op.copies(&d.config, t.task.Bytes); copiers > 0 {
		if err := add(copying, idCopy, 1, task{Op: copying, Bytes: each, Ranks: copiers}); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// copies says how many ranks copy how much each for the limit of one size; none
// where only the exchange counts.
func (o *op) copies(c *config, bytes int64) (copiers int, each int64) {
	if o.moved == nil || bytes <= exchangeBytes {
		return 0, 0
	}
	n := int64(max(min(c.Ranks, len(c.CPUs)), 1))
	return int(n), (o.moved(c.Ranks, bytes) + n - 1) / n
}

func (l *limit) subjects() (list []subject) {
	for _, t := range l.terms {
		if t.subject != nil {
			list = append(list, t.subject)
		}
	}
	return list
}

// figure is the limit in µs and what it is made of. Its subjects are those
// behind ours.
func (l *limit) figure(kept []repetition) (us figure, parts string) {
	if len(l.terms) == 0 {
		return none(), "-"
	}
	var names []string
	subject := 0
	for _, t := range l.terms {
		names = append(names, t.name)
		if t.subject == nil {
			us += figure(median(kept) / 1e3)
			continue
		}
		subject++
		us += figure(t.times) * summarize(bestNote(of(kept, subject))).P50
	}
	return us, strings.Join(names, "+")
}

func (l *limit) close(ctx context.Context) error {
	for _, t := range l.terms {
		if err := t.close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// short is a subject that gets a limit's share of the time.
type short struct{ subject }

func (s short) measure(ctx context.Context, p point) (slice, error) {
	p.Iters, p.Budget = 0, p.Budget/limitShare
	return s.subject.measure(ctx, p)
}
