package bench

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/symwin/symwin/internal/futex"
	"github.com/symwin/symwin/internal/line"
)

// arena is where two ranks play ping-pong, in rank 0's page of the board. A cell
// is larger than what prefetchers fetch together. It is all zero when a game
// begins.
type arena struct {
	lines [2]cell // a line each way: the starter writes the first, the answerer the second
	line  cell    // both write, whose turn it is
	bells [2]cell // futex words, written like lines
}

// cell is a message, payload and sequence, with a distance to the next.
type cell struct {
	payload, sequence uint64
	bell              uint32
	_                 [236]byte
}

// player is one of the two sides of a game. The starter opens each round trip.
// All its games play n round trips; they are the bare exchanges that bound what
// any operation between two ranks can reach.
type player struct {
	arena   *arena
	starter bool
	rounds  uint64 // played so far: a sequence
	sum     uint64 // of the payloads received: they have been read
}

// lines: one line in each direction, with 8 bytes of payload. It is the
// reference for everything that two ranks on CPUs of their own do.
func (p *player) lines(ctx context.Context, n int) error {
	out, in := p.cells(&p.arena.lines)
	for range n {
		p.rounds++
		if p.starter {
			p.send(out)
		}
		if err := await(ctx, &in.sequence, p.rounds, line.Pause); err != nil {
			return err
		}
		p.sum += in.payload
		if !p.starter {
			p.send(out)
		}
	}
	return nil
}

func (p *player) cells(two *[2]cell) (out, in *cell) {
	if p.starter {
		return &two[0], &two[1]
	}
	return &two[1], &two[0]
}

func (p *player) send(out *cell) {
	out.payload = p.sum + p.rounds
	line.StoreRelease64(&out.sequence, p.rounds)
}

// line: one line both ways.
func (p *player) line(ctx context.Context, n int) error { return p.turns(ctx, n, line.Pause) }

// yield: two ranks on one CPU, each gives way until it is its turn. It bounds
// what more ranks than CPUs can reach.
func (p *player) yield(ctx context.Context, n int) error { return p.turns(ctx, n, futex.Yield) }

func (p *player) turns(ctx context.Context, n int, pause func()) error {
	turn := &p.arena.line.sequence
	for range n {
		p.rounds++
		there, back := 2*p.rounds-1, 2*p.rounds
		if p.starter {
			line.StoreRelease64(turn, there)
			if err := await(ctx, turn, back, pause); err != nil {
				return err
			}
			continue
		}
		if err := await(ctx, turn, there, pause); err != nil {
			return err
		}
		line.StoreRelease64(turn, back)
	}
	return nil
}

// futex: each side sleeps until the other wakes it.
func (p *player) futex(ctx context.Context, n int) error {
	out, in := p.cells(&p.arena.bells)
	for range n {
		p.rounds++
		now := uint32(p.rounds)
		if p.starter {
			ring(&out.bell, now)
		}
		for atomic.LoadUint32(&in.bell) != now {
			sleep(&in.bell, now-1)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if !p.starter {
			ring(&out.bell, now)
		}
	}
	return nil
}

func ring(bell *uint32, now uint32) {
	atomic.StoreUint32(bell, now)
	futex.Wake(bell, 1)
}

// patience is how many looks in vain come before other goroutines get their
// chance and the context is looked at, which is what ends a game whose partner
// has died: about a millisecond.
const patience = 1 << 14

func await(ctx context.Context, word *uint64, value uint64, pause func()) error {
	for looks := 1; atomic.LoadUint64(word) != value; looks++ {
		pause()
		if looks%patience == 0 {
			runtime.Gosched()
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}
