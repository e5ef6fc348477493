package bench

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// maxBlocks bounds the blocks of a row, and with them the board.
const maxBlocks = 4096

// board is what the ranks of a measurement tell each other, outside the clock:
// a piece of every rank's window. Each word has one writer, its rank (the arena
// apart); everybody reads it behind a barrier, which orders the two.
type board struct {
	team   *symmem.Team
	pages  []*page // by rank
	shared int     // calls of share so far
}

// page is one rank's part of the board. It is as large as its area.
type page struct {
	// shared are two turns of share. The next value goes to the other one, so
	// that a fast rank does not overwrite what a slow one still reads.
	shared [2]uint64
	_      [48]byte
	// round is the barrier's proof: stored before a barrier, read after it.
	round atomic.Uint64
	_     [56]byte
	arena arena
	// blocks and wrong are the rank's results of one row.
	wrong  uint64
	count  uint64
	blocks [maxBlocks]uint64 // ns
}

func openBoard(ctx context.Context, team *symmem.Team) (*board, error) {
	area, err := window.OpenArea(ctx, team, symmem.Record{Op: symmem.OpOpen}, pageSize)
	if err != nil {
		return nil, err
	}
	b := &board{team: team}
	for r := range team.Size() {
		b.pages = append(b.pages, pageOf(area.Peer(r)))
	}
	return b, nil
}

func (b *board) mine() *page { return b.pages[b.team.Rank()] }

// share gives every rank the values of all. It is collective, and a barrier.
func (b *board) share(ctx context.Context, v uint64) ([]uint64, error) {
	turn := b.shared & 1
	b.shared++
	b.mine().shared[turn] = v
	if err := b.team.Barrier(ctx); err != nil {
		return nil, err
	}
	all := make([]uint64, len(b.pages))
	for r, p := range b.pages {
		all[r] = p.shared[turn]
	}
	return all, nil
}

// slowest gives every rank the longest of the times that all measured.
func (b *board) slowest(ctx context.Context, t time.Duration) (time.Duration, error) {
	all, err := b.share(ctx, uint64(t))
	var most uint64
	for _, v := range all {
		most = max(most, v)
	}
	return time.Duration(most), err
}

// gather collects what the ranks measured in one row: on rank 0 the blocks of
// all, and how many wrong bytes there were. It is collective.
func (b *board) gather(ctx context.Context, blocks []time.Duration, wrong int) (all [][]time.Duration, sum int, err error) {
	p := b.mine()
	p.wrong, p.count = uint64(wrong), uint64(len(blocks))
	for k, t := range blocks {
		p.blocks[k] = uint64(t)
	}
	if err := b.team.Barrier(ctx); err != nil {
		return nil, 0, err
	}
	if b.team.Rank() == 0 {
		for _, p := range b.pages {
			own := make([]time.Duration, p.count)
			for k := range own {
				own[k] = time.Duration(p.blocks[k])
			}
			all = append(all, own)
			sum += int(p.wrong)
		}
	}
	// Nobody begins the next row's results before these are read.
	return all, sum, b.team.Barrier(ctx)
}
