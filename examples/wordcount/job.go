package main

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	reader   *reader
	progress *progress
	tree     *tree     // on rank 0
	failures []failure // of this rank; on rank 0, in the end, of all
}

func newJob(w *symwin.World, p *progress) *job {
	return &job{team: w.Team(), exchange: NewExchange(w.Team(), roundBytes), reader: newReader(), progress: p}
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

// headStart is what each other rank gets to count while rank 0 is still listing
// the tree: about what it counts until the rest of GOROOT/src is listed and dealt.
// More would be dealt without rank 0, less would let the others wait.
const headStart = 8 << 20

// An order is what rank 0 tells a rank to count.
type order struct {
	Share Share
	Last  bool
}

// errNoDir ends the job of the other ranks if rank 0 cannot read the directory:
// they get no order.
var errNoDir = errors.New("rank 0 cannot read the directory")

// A dirError is why rank 0 cannot.
type dirError struct{ error }

// countOrders is what other ranks than 0 do: count what they are told to.
func (j *job) countOrders(ctx context.Context) error {
	for {
		in, err := mail(ctx, j.exchange, map[int]order{})
		if err != nil {
			return err
		}
		o, ok := in[0]
		if !ok {
			return errNoDir
		}
		if err := j.countShare(ctx, o.Share); err != nil || o.Last {
			return err
		}
	}
}

// countTree is what rank 0 does: list the tree, deal it out, count its own share.
func (j *job) countTree(ctx context.Context, dir string) (err error) {
	if j.tree, err = openTree(dir); err != nil {
		if _, lost := mail(ctx, j.exchange, map[int]order{}); lost != nil {
			return lost
		}
		return dirError{err}
	}
	t, others, dealt := j.tree, j.team.Size()-1, 0
	if others > 0 {
		t.list(headStart*int64(others), j.progress)
		if len(t.ahead) > 0 {
			dealt = len(t.files)
			if _, err := j.order(ctx, append([]Share{nil}, deal(t.files, others)...), false); err != nil {
				return err
			}
		}
	}
	t.list(math.MaxInt64, j.progress)
	mine, err := j.order(ctx, deal(t.files[dealt:], others+1), true)
	if err != nil {
		return err
	}
	return j.countShare(ctx, mine)
}

// order tells every rank its share and returns the own one.
func (j *job) order(ctx context.Context, shares []Share, last bool) (Share, error) {
	out := map[int]order{}
	for r, s := range shares {
		out[r] = order{s, last}
	}
	in, err := mail(ctx, j.exchange, out)
	return in[0].Share, err
}

// countShare counts a share. A file that cannot be read is a failure to be told
// later, and the count goes on.
func (j *job) countShare(ctx context.Context, share Share) error {
	var total, done int64
	for p := range share.parts() {
		total += p.End - p.Off
	}
	j.reader.read = func(bytes int) {
		done += int64(bytes)
		j.progress.say(func() string { return fmt.Sprintf("counting: %d %% of rank 0's share", 100*done/total) })
	}
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
