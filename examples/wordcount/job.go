package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/symwin/symwin"
)

// roundBytes is what one round of an exchange moves out of a rank and into it:
// the words of GOROOT/src go in one round, and it is little beside any window.
const roundBytes = 4 << 20

// A Result is the answer. It is the same for every number of ranks, but for the
// times, which are rank 0's.
type Result struct {
	Total           uint64  `json:"total"`
	Distinct        uint64  `json:"distinct"`
	Top             top     `json:"top"`
	Seconds         float64 `json:"seconds"`
	ExchangeSeconds float64 `json:"exchange_seconds"` // waiting for slower ranks included
}

// A job is one rank's side of counting a directory. All ranks call the same
// methods in the same order.
type job struct {
	team     *symwin.Team
	exchange *Exchange
	orders   *orders
	reader   *reader
	progress *progress
	tree     *tree     // on rank 0
	failures []failure // of this rank; on rank 0, in the end, of all
}

func newJob(ctx context.Context, w *symwin.World, p *progress) (*job, error) {
	o, err := newOrders(ctx, w)
	return &job{team: w.Team(), exchange: NewExchange(w.Team(), roundBytes), orders: o, reader: newReader(), progress: p}, err
}

// count counts the words of the files under dir: rank 0 lists and deals them,
// everyone counts its share and sends each word to its owner, and rank 0 puts
// the owners' sums together. The result is on rank 0, nil elsewhere.
func (j *job) count(ctx context.Context, dir string) (*Result, error) {
	begin := time.Now()
	var err error
	if j.team.Rank() == 0 {
		err = j.countTree(ctx, dir)
	} else {
		err = j.countOrders(ctx)
	}
	if err != nil {
		return nil, err
	}

	counted := time.Now()
	s, err := j.toOwners(ctx)
	if err != nil {
		return nil, err
	}
	exchanged := time.Since(counted)
	s.Top, s.Failures = j.best(), j.failures

	summed := time.Now()
	sums, err := mail(ctx, j.exchange, map[int]sum{0: s})
	if err != nil || j.team.Rank() != 0 {
		return nil, err
	}
	exchanged += time.Since(summed)

	res := &Result{Top: top{}, ExchangeSeconds: exchanged.Seconds()}
	j.failures = j.tree.failed
	for _, s := range sums {
		res.Total += s.Total
		res.Distinct += s.Distinct
		for _, w := range s.Top {
			res.Top.offer([]byte(w.Word), w.Count)
		}
		j.failures = append(j.failures, s.Failures...)
	}
	j.failures = once(j.failures)
	res.Seconds = time.Since(begin).Seconds()
	return res, nil
}

// errNoDir ends the job of the other ranks if rank 0 cannot read the directory.
var errNoDir = errors.New("rank 0 cannot read the directory")

// A dirError is why rank 0 cannot.
type dirError struct{ error }

// countOrders is what other ranks than 0 do: count what they are told to.
func (j *job) countOrders(ctx context.Context) error {
	for {
		share, kind, err := j.orders.take(ctx)
		if err == nil && kind == noDir {
			err = errNoDir
		}
		if err == nil {
			err = j.countShare(ctx, share)
		}
		if err != nil || kind == last {
			return err
		}
	}
}

// countTree is what rank 0 does: list the tree and deal it out, to the others
// first and then to itself, until nothing is left.
func (j *job) countTree(ctx context.Context, dir string) (err error) {
	if j.tree, err = openTree(dir); err != nil {
		if lost := j.tellOthers(ctx, noDir); lost != nil {
			return lost
		}
		return dirError{err}
	}
	t := j.tree
	for {
		if err := j.keepOthersBusy(ctx); err != nil {
			return err
		}
		if len(t.ahead) > 0 {
			t.listNext()
			j.progress.say(func() string { return fmt.Sprintf("listing: %d files", len(t.files)) })
			continue
		}
		mine := t.deal(back, shareRoom)
		if len(mine) == 0 {
			return j.tellOthers(ctx, last)
		}
		if err := j.countShare(ctx, mine); err != nil {
			return err
		}
		j.progress.say(func() string { return fmt.Sprintf("counting: file %d of %d", t.first+t.back, len(t.files)) })
	}
}

// keepOthersBusy gives every other rank orders for as many shares as it has room
// for, one each in turn.
func (j *job) keepOthersBusy(ctx context.Context) error {
	for given := true; given; {
		given = false
		for to := 1; to < j.team.Size(); to++ {
			room, err := j.orders.wants(ctx, to)
			if err != nil {
				return err
			}
			if !room {
				continue
			}
			share := j.tree.deal(front, shareRoom)
			if len(share) == 0 {
				return nil
			}
			if err := j.orders.give(ctx, to, more, share); err != nil {
				return err
			}
			given = true
		}
	}
	return nil
}

func (j *job) tellOthers(ctx context.Context, kind byte) error {
	for to := 1; to < j.team.Size(); to++ {
		if err := j.orders.give(ctx, to, kind, nil); err != nil {
			return err
		}
	}
	return nil
}

// countShare counts a share. A file that cannot be read is a failure to be told
// later, and the count goes on.
func (j *job) countShare(ctx context.Context, share Share) error {
	for p, err := range share.parts() {
		if err != nil {
			return err
		}
		if err := j.reader.count(ctx, p); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			j.failures = append(j.failures, failure{Path: p.Path, Reason: reason(err)})
		}
	}
	return nil
}

// A sum is what an owner tells rank 0.
type sum struct {
	Total, Distinct uint64
	Top             top
	Failures        []failure
}

// toOwners sends every word with its count to the rank that sums it up, and sums
// up what comes for this rank. Its own words stay where they are; so do those of
// others, but they do not count.
func (j *job) toOwners(ctx context.Context) (sum, error) {
	var s sum
	t, n, me := j.reader.words, j.team.Size(), j.team.Rank()
	out := newOutboxes(n, t.used)
	for e := range t.entries() {
		if to := e.owner(n); to != me {
			out[to].put(t, e)
		} else {
			s.Total += e.n
			s.Distinct++
		}
	}
	before := t.used
	err := sendWords(ctx, j.exchange, out, t.reserve, func(w []byte, n uint64) {
		t.addWord(w, n)
		s.Total += n
	})
	s.Distinct += uint64(t.used - before)
	return s, err
}

// best finds the most frequent of the words that this rank owns.
func (j *job) best() (best top) {
	t, n, me := j.reader.words, j.team.Size(), j.team.Rank()
	for e := range t.entries() {
		if best.wants(e.n) && e.owner(n) == me {
			best.offer(t.word(e), e.n)
		}
	}
	return best
}
