package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
	failures []failure // on rank 0, when all is counted
}

func newJob(w *symwin.World, p *progress) *job {
	return &job{team: w.Team(), exchange: NewExchange(w.Team(), roundBytes), reader: newReader(), progress: p}
}

// count counts the words of the files under dir: rank 0 lists and deals them,
// everyone counts its share and sends each word to its owner, and rank 0 puts
// the owners' sums together. The result is on rank 0, nil elsewhere.
func (j *job) count(ctx context.Context, dir string) (*Result, error) {
	begin := time.Now()
	share, err := j.share(ctx, dir)
	if err != nil {
		return nil, err
	}
	failures, err := j.countParts(ctx, share.Parts)
	if err != nil {
		return nil, err
	}

	counted := time.Now()
	if err := j.toOwners(ctx); err != nil {
		return nil, err
	}
	exchanged := time.Since(counted)
	mine := sumOf(j.owned())
	mine.Failures = failures

	summed := time.Now()
	sums, err := mail(ctx, j.exchange, map[int]sum{0: mine})
	if err != nil || j.team.Rank() != 0 {
		return nil, err
	}
	exchanged += time.Since(summed)

	j.failures = j.tree.failed
	res := &Result{Top: top{}, ExchangeSeconds: exchanged.Seconds()}
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

// share lists the tree on rank 0 and tells every rank its share.
func (j *job) share(ctx context.Context, dir string) (Share, error) {
	var bad error
	out := map[int]Share{}
	if j.team.Rank() == 0 {
		if j.tree, bad = walk(dir, j.progress); bad != nil {
			j.tree = &tree{}
		}
		for r, s := range deal(j.tree, j.team.Size()) {
			s.NoDir = bad != nil
			out[r] = s
		}
	}
	in, err := mail(ctx, j.exchange, out)
	switch {
	case err != nil:
		return Share{}, err
	case bad != nil:
		return Share{}, dirError{bad}
	case in[0].NoDir:
		return Share{}, errNoDir
	}
	return in[0], nil
}

// countParts counts the own share. A file that cannot be read is a failure to be
// told later, and the count goes on.
func (j *job) countParts(ctx context.Context, parts []Part) (failures []failure, err error) {
	var total, done int64
	for _, p := range parts {
		total += p.End - p.Off
	}
	j.reader.read = func(bytes int) {
		done += int64(bytes)
		j.progress.say(func() string { return fmt.Sprintf("counting: %d %% of rank 0's share", 100*done/total) })
	}
	for _, p := range parts {
		err := j.reader.count(ctx, p)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failures = append(failures, failure{p.Path, reason(err)})
		}
	}
	return failures, nil
}

// toOwners sends every word with its count to the rank that sums it up. Words
// that this rank owns stay where they are; those of others stay too, and owned
// leaves them out.
func (j *job) toOwners(ctx context.Context) error {
	t, n, me := j.reader.words, j.team.Size(), j.team.Rank()
	out := make([]outbox, n)
	for e := range t.entries() {
		if to := e.owner(n); to != me {
			out[to].put(t, e)
		}
	}
	return sendWords(ctx, j.exchange, out, t.reserve, t.addWord)
}

// owned yields the words that this rank sums up.
func (j *job) owned() words {
	t, n, me := j.reader.words, j.team.Size(), j.team.Rank()
	return func(yield func([]byte, uint64) bool) {
		for e := range t.entries() {
			if e.owner(n) == me && !yield(t.word(e), e.n) {
				return
			}
		}
	}
}

// words yields words and their counts. A word is good until the next.
type words = iter.Seq2[[]byte, uint64]

// A sum is what an owner tells rank 0.
type sum struct {
	Total, Distinct uint64
	Top             top
	Failures        []failure
}

func sumOf(w words) (s sum) {
	for word, n := range w {
		s.Total += n
		s.Distinct++
		s.Top.offer(word, n)
	}
	return s
}
