package bench

import (
	"context"
	"time"
)

// subject is what is measured in slices: a stint of our ranks, a peer, a loop of
// this process.
type subject interface {
	measure(ctx context.Context, p point) (slice, error)
}

// driver measures the rows of a job, one after the other. It runs in the process
// that the user started; while it works the ranks sleep.
type driver struct {
	*job
	crew   *crew
	look   func(context.Context) (placement, error)
	rivals []*rival
	out    output
	wrong  int // bytes, in all rows

	progress *progress
}

// How long the blocks of a row last together where iterations are "auto", the
// part of it that a limit gets which is measured beside it, and the pass for
// single operations.
const (
	rowBudget   = 200 * time.Millisecond
	limitShare  = 4
	tailsBudget = 100 * time.Millisecond
)

// maxTries is how often a repetition is measured again, on average, when the
// placement changes.
const maxTries = 3

func (d *driver) run(ctx context.Context) error {
	for _, t := range d.trials() {
		d.progress.begin(d.job, t)
		row, err := d.trial(ctx, t)
		if err != nil {
			return err
		}
		if row.Wrong != nil {
			d.wrong += *row.Wrong
		}
	}
	return d.out.end()
}

// trial measures one row and writes it.
func (d *driver) trial(ctx context.Context, t trial) (row Row, err error) {
	limit, err := d.limit(ctx, t)
	if err != nil {
		return row, err
	}
	ours, stint := subject(nil), (*crewed)(nil)
	if d.op.own != nil {
		ours = d.op.own(d.job)
	} else if stint, err = d.crew.open(ctx, idOurs, t.task); err != nil {
		return row, err
	} else {
		ours = stint
	}
	subjects := append([]subject{ours}, limit.subjects()...)
	own := len(subjects)
	for _, r := range d.rivals {
		subjects = append(subjects, r.at(t.task.Bytes))
	}
	kept, all, state, err := d.settle(ctx, t, subjects)
	if err != nil {
		return row, err
	}
	row = d.row(t, kept, state, limit)
	row.Wrong = wrong(all)
	for k, r := range d.rivals {
		row.Peers[r.name] = r.figure(row, of(kept, own+k))
	}
	if stint == nil {
		return row, d.out.row(row)
	}
	if row.Engine == copying {
		row.Engine += " " + bestNote(of(kept, 0))[0].Note
	}
	if err := d.out.row(row); err != nil {
		return row, err
	}
	if d.tails {
		single, err := stint.tails(ctx, point{Budget: tailsBudget})
		if err == nil {
			err = d.out.tails(row, *single)
		}
		if err != nil {
			return row, err
		}
	}
	if err := stint.close(ctx); err != nil {
		return row, err
	}
	return row, limit.close(ctx)
}

// repetition is a slice of every subject, in turns, between two looks at the
// placement.
type repetition struct {
	slices        []slice
	before, after placement
}

// settle measures repetitions until as many as were asked for have seen one
// state, and returns those beside all there were. One during which the placement
// changed does not count, and after a change for good none before it does. If it
// will not settle, the last ones stand, and the state is "moved".
func (d *driver) settle(ctx context.Context, t trial, subjects []subject) (kept, all []repetition, state string, err error) {
	reps, p := d.reps, point{Iters: d.iters, Shortest: d.shortest(t), Budget: rowBudget / time.Duration(d.reps)}
	if t.quick {
		reps, p.Budget = 1, probeBudget
	}
	r := repetition{}
	if r.before, err = d.look(ctx); err != nil {
		return nil, nil, "", err
	}
	for len(all) < maxTries*reps {
		r.slices, p.expected = nil, 0
		for _, s := range subjects {
			begin := time.Now()
			got, err := s.measure(ctx, p)
			if err != nil {
				return nil, nil, "", err
			}
			if r.slices = append(r.slices, got); p.expected == 0 {
				p.expected = time.Since(begin)
			}
		}
		if r.after, err = d.look(ctx); err != nil {
			return nil, nil, "", err
		}
		if !steady(r.before, r.after) { // or something else ran while we looked
			if r.after, err = d.look(ctx); err != nil {
				return nil, nil, "", err
			}
		}
		all = append(all, r)
		if steady(r.before, r.after) {
			if len(kept) > 0 && !steady(kept[0].after, r.after) {
				kept = nil
			}
			if kept = append(kept, r); len(kept) == reps {
				return kept, all, median(kept).String(), nil
			}
		}
		r.before = r.after
	}
	return all[len(all)-reps:], all, moved, nil
}

// wrong counts the bytes of ours that arrived wrong, those of a repetition whose
// times do not count, too; nil: nobody has looked.
func wrong(all []repetition) *int {
	sum, looked := 0, false
	for _, s := range of(all, 0) {
		sum, looked = sum+s.Wrong, looked || s.Looked
	}
	if !looked {
		return nil
	}
	return &sum
}

// of is the slices of one subject.
func of(kept []repetition, subject int) (list []slice) {
	for _, r := range kept {
		list = append(list, r.slices[subject])
	}
	return list
}

// row fills in the figures. Subject 0 is ours.
func (d *driver) row(t trial, kept []repetition, state string, l *limit) Row {
	row := t.row
	row.Touch, row.InPlace, row.Reps, row.State = d.touch, d.inPlace, len(kept), state
	row.Peers = map[string]PeerFigure{}
	mine := bestNote(of(kept, 0))
	row.summary = summarize(mine)
	for _, s := range mine {
		row.Each = append(row.Each, summarize([]slice{s}).P50)
		row.Iters += len(s.Blocks) * s.Ops
	}
	row.Algbw, row.Busbw = none(), none()
	if total := d.op.total; total != nil {
		row.Algbw = figure(total(row.Ranks, row.Bytes)) / row.P50 / 1e3
		row.Busbw = row.Algbw
		if d.op.bus != nil {
			row.Busbw *= figure(d.op.bus(row.Ranks))
		}
	} else if t.task.Op == copying {
		row.Algbw = figure(int64(row.Ranks)*row.Bytes) / row.P50 / 1e3
		row.Busbw = row.Algbw
	}
	row.Limit, row.Of = l.figure(kept)
	return row
}
