package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/symwin/symwin/internal/futex"
	"github.com/symwin/symwin/symmem"
	shmsync "github.com/symwin/symwin/sync"
	"github.com/symwin/symwin/window"
)

// maxBlocks bounds the blocks of a slice, and with them the board.
const maxBlocks = 4096

// board is what the ranks of a measurement tell each other, outside the clock:
// a piece of every rank's window. Each word has one writer, its rank (arena and
// gate apart); everybody reads it behind a barrier, which orders the two.
type board struct {
	team   *symmem.Team
	pages  []*page // by rank
	shared int     // calls of share so far
	heard  uint32  // commands so far
}

// page is one rank's part of the board. It is as large as its area.
type page struct {
	// shared are two turns of share. The next value goes to the other one, so
	// that a fast rank does not overwrite what a slow one still reads.
	shared [2]uint64
	_      [48]byte
	// commands counts what rank 0 has passed on; the others sleep on it. length
	// and text are the last command, stored before the count (release).
	commands uint32
	length   uint32
	text     [maxCommand]byte
	_        [56]byte
	// round is the barrier's proof: stored before a barrier, read after it.
	round atomic.Uint64
	_     [56]byte
	// arenas are where games are played, one for each stint.
	arenas [stintIDs]arena
	gate   gate
	bell   shmsync.Doorbell
	// blocks and wrong are the rank's results of one slice; looked: it has compared.
	wrong  uint64
	looked bool
	count  uint64
	blocks [maxBlocks]uint64 // ns, or the counts of a histogram
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

// pass gives the others a command. None of them still reads the one before:
// every command ends with a barrier.
func (b *board) pass(c command) error {
	text, err := json.Marshal(c)
	if err == nil && len(text) > maxCommand {
		err = fmt.Errorf("a command of %d bytes, at most %d", len(text), maxCommand)
	}
	if err != nil {
		return err
	}
	p := b.pages[0]
	p.length = uint32(copy(p.text[:], text))
	atomic.AddUint32(&p.commands, 1)
	futex.Wake(&p.commands, len(b.pages))
	return nil
}

// idle bounds a sleep between two commands: by then a rank whose world has ended
// goes home. Ten looks a second cost nothing.
const idle = 100 * time.Millisecond

// next is the next command, for which any rank but 0 waits asleep, however long
// that takes: peers are measured meanwhile. It is no wait for a rank, so no
// deadline of one (--stall) is running.
func (b *board) next(ctx context.Context) (c command, err error) {
	p := b.pages[0]
	for atomic.LoadUint32(&p.commands) == b.heard {
		if err := b.team.Usable(); err != nil {
			return c, err
		}
		if err := ctx.Err(); err != nil {
			return c, err
		}
		futex.Wait(&p.commands, b.heard, idle)
	}
	b.heard++
	return c, json.Unmarshal(p.text[:p.length], &c)
}

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

// gather collects what the ranks measured in one slice: on rank 0 the blocks of
// all, how many wrong bytes there were, and whether anybody looked. It is collective.
func (b *board) gather(ctx context.Context, blocks []time.Duration, wrong int, looked bool) (all [][]time.Duration, sum int, any bool, err error) {
	p := b.mine()
	p.wrong, p.looked, p.count = uint64(wrong), looked, uint64(len(blocks))
	for k, t := range blocks {
		p.blocks[k] = uint64(t)
	}
	err = b.collect(ctx, func(p *page) {
		own := make([]time.Duration, p.count)
		for k := range own {
			own[k] = time.Duration(p.blocks[k])
		}
		all = append(all, own)
		sum += int(p.wrong)
		any = any || p.looked
	})
	return all, sum, any, err
}

// merge adds up the histograms of all ranks on rank 0.
func (b *board) merge(ctx context.Context, h *hdrhistogram.Histogram) (all *hdrhistogram.Histogram, err error) {
	p, s := b.mine(), h.Export()
	p.count = uint64(len(s.Counts))
	for k, n := range s.Counts {
		p.blocks[k] = uint64(n)
	}
	err = b.collect(ctx, func(p *page) {
		if all == nil {
			all = newHistogram()
		}
		counts := make([]int64, p.count)
		for k := range counts {
			counts[k] = int64(p.blocks[k])
		}
		s.Counts = counts
		all.Merge(hdrhistogram.Import(s))
	})
	return all, err
}

// collect lets rank 0 see the pages of all when all have written them.
func (b *board) collect(ctx context.Context, see func(*page)) error {
	if err := b.team.Barrier(ctx); err != nil {
		return err
	}
	if b.team.Rank() == 0 {
		for _, p := range b.pages {
			see(p)
		}
	}
	// Nobody begins the next results before these are read.
	return b.team.Barrier(ctx)
}
