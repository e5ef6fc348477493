package bench

// chapter is what one command measured: an output that keeps what it gets.
type chapter struct {
	job     *job
	meta    Meta
	rows    []Row
	singles []single
	failed  string // why rows are missing
}

// single is the tails of one row.
type single struct {
	row Row
	tails
}

func (p *chapter) row(r Row) error { p.rows = append(p.rows, r); return nil }
func (p *chapter) tails(r Row, s tails) error {
	p.singles = append(p.singles, single{r, s})
	return nil
}
func (p *chapter) end() error { return nil }

// outputs are several, each of which gets everything.
type outputs []output

func (o outputs) each(do func(output) error) error {
	for _, one := range o {
		if err := do(one); err != nil {
			return err
		}
	}
	return nil
}

func (o outputs) row(r Row) error { return o.each(func(one output) error { return one.row(r) }) }
func (o outputs) tails(r Row, s tails) error {
	return o.each(func(one output) error { return one.tails(r, s) })
}
func (o outputs) end() error { return o.each(output.end) }
