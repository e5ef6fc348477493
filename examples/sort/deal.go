package main

import (
	"context"

	"github.com/symwin/symwin"
)

// A dealer sends the lines of a share to the ranks whose ranges they fall into,
// a piece at a time.
type dealer struct {
	team                 *symwin.Team
	to                   *splitters
	piece, lines         int // of a round, at most
	hands                []hand
	src                  []byte
	srcCounts, dstCounts []int
	ends                 []int
}

// A hand is a line and who gets it.
type hand struct {
	line []byte
	to   int
}

func newDealer(team *symwin.Team, to *splitters, piece, lines int) *dealer {
	n := team.Size()
	return &dealer{team: team, to: to, piece: piece, lines: lines, hands: make([]hand, 0, lines),
		src: make([]byte, piece), srcCounts: make([]int, n), dstCounts: make([]int, n), ends: make([]int, n)}
}

// take takes the next lines of the share and lays them in the order of ranks.
func (d *dealer) take(s *share) error {
	d.hands = d.hands[:0]
	clear(d.srcCounts)
	if err := s.fill(); err != nil {
		return err
	}
	for len(d.hands) < d.lines {
		line := s.next()
		if line == nil {
			break
		}
		to := d.to.to(line[:len(line)-1])
		d.hands = append(d.hands, hand{line, to})
		d.srcCounts[to] += len(line)
	}
	at := 0
	for r, n := range d.srcCounts {
		d.ends[r] = at
		at += n
	}
	for _, h := range d.hands {
		d.ends[h.to] += copy(d.src[d.ends[h.to]:], h.line)
	}
	return nil
}

// deal is one round: lines to all, and lines from all into dst. It returns how
// many bytes have come.
func (d *dealer) deal(ctx context.Context, dst []byte) (int, error) {
	total := 0
	for _, n := range d.srcCounts {
		total += n
	}
	if err := symwin.AllToAllv(ctx, d.team, dst, d.dstCounts, d.src[:total], d.srcCounts); err != nil {
		return 0, err
	}
	come := 0
	for _, n := range d.dstCounts {
		come += n
	}
	return come, nil
}
