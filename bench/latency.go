package bench

import (
	"context"
	"fmt"

	"github.com/symwin/symwin/symmem"
)

var latency = &op{
	name:    "latency",
	text:    "half a round trip between neighbouring ranks, received and copied out; the slowest pair counts",
	engines: []string{"auto", "ll16", "ce"},
	low:     8, high: 1 << 20,
	least: 2, few: true,
	total: func(row Row) int64 { return row.Bytes },
	ranks: func(n int) error {
		if n%2 != 0 {
			return fmt.Errorf("latency is between pairs of ranks: their number must be even, not %d", n)
		}
		return nil
	},
	fits: func(c *Config, bytes int64) error {
		if c.Engine == "ll16" && elements[bytes] == nil {
			return fmt.Errorf("latency by ll16 has elements of 1, 2, 4 … %d bytes, not %d; lower --max or take --engine auto", maxElement, bytes)
		}
		return nil
	},
	window: func(c *Config, bytes int64) int64 { return 0 },
	memory: func(c *Config, bytes int64) int64 { return 2 * bytes },
	run: func(ctx context.Context, r *rank) error {
		pair, err := r.world.Team().Split(ctx, r.world.Rank()/2, r.world.Rank())
		if err != nil {
			return err
		}
		return sweep(ctx, r, func(bytes int64) (*exercise, error) {
			return openLatency(ctx, pair, r.Engine, int(bytes))
		})
	},
}

// courier carries messages of one size between the two ranks of a pair.
type courier interface {
	// out is where a message is taken from, in where one has been copied to when
	// receive returns.
	out() []byte
	in() []byte
	// A round trip is a send and a receive on one rank and a receive and a send
	// on the other, and then end on both.
	send(ctx context.Context) error
	receive(ctx context.Context) error
	end(ctx context.Context) error
	// Close is collective over the pair.
	Close(ctx context.Context) error
}

// autoElement is the largest message that auto carries as an element of tagged
// lines: with 64 bytes the copy engine is ahead, 0.45 µs against 0.52.
const autoElement = 32

func openCourier(ctx context.Context, pair *symmem.Team, engine string, size int) (courier, error) {
	open := elements[int64(size)]
	if engine == "ce" || engine == "auto" && (open == nil || size > autoElement) {
		return openCopies(ctx, pair, size)
	}
	return open(ctx, pair)
}

// openLatency makes an exercise of which an operation is a round trip.
func openLatency(ctx context.Context, pair *symmem.Team, engine string, size int) (*exercise, error) {
	c, err := openCourier(ctx, pair, engine, size)
	if err != nil {
		return nil, err
	}
	first, second := c.send, c.receive
	if pair.Rank() == 1 {
		first, second = second, first
	}
	me, peer := pair.WorldRank(pair.Rank()), pair.WorldRank(1-pair.Rank())
	return &exercise{
		run: func(ctx context.Context, n int) error {
			for range n {
				if err := first(ctx); err != nil {
					return err
				}
				if err := second(ctx); err != nil {
					return err
				}
				if err := c.end(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		load:    func(round uint64) { stream{round, me, peer}.fill(c.out()) },
		wrong:   func(round uint64) int { return stream{round, peer, me}.wrong(c.in()) },
		arrived: c.in(),
		bytes:   int64(size),
		parts:   2,
		close:   c.Close,
	}, nil
}
