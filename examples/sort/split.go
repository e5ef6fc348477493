package main

import (
	"bytes"
	"context"
	"slices"
	"sort"

	"github.com/symwin/symwin"
)

// Splitters cut all keys into one range per rank: rank r gets what lies between
// splitter r-1 and splitter r. They are the same on all ranks.
type splitters struct {
	keys [][]byte
	turn int
}

// newSplitters draws them from the samples of all ranks.
func newSplitters(ctx context.Context, team *symwin.Team, sample []byte) (*splitters, error) {
	n := team.Size()
	all, counts := make([]byte, n*samples*(sampleBytes+1)), make([]int, n)
	if err := symwin.AllGatherv(ctx, team, all, counts, sample); err != nil {
		return nil, err
	}
	total := 0
	for _, c := range counts {
		total += c
	}
	lines := bytes.Split(bytes.TrimSuffix(all[:total], []byte("\n")), []byte("\n"))
	slices.SortFunc(lines, bytes.Compare)
	s := &splitters{keys: make([][]byte, n-1), turn: team.Rank()}
	for r := range s.keys {
		s.keys[r] = lines[(r+1)*len(lines)/n]
	}
	return s, nil
}

// to is the rank that a line goes to. A line that equals splitters may go to any
// of the ranks beside them; those take turns, so that a file of which half is one
// and the same line is still shared out.
func (s *splitters) to(line []byte) int {
	first := sort.Search(len(s.keys), func(r int) bool { return bytes.Compare(s.keys[r], line) >= 0 })
	last := first
	for last < len(s.keys) && bytes.Equal(s.keys[last], line) {
		last++
	}
	if first == last {
		return first
	}
	s.turn++
	return first + s.turn%(last-first+1)
}
