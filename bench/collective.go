package bench

import (
	"context"
	"fmt"
	"os"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/symmem"
)

// collective is an operation of the front door beside the all-to-alls: the same
// calls for each engine, chosen as programs choose it, by SYMWIN_ALGO. Lengths are
// in blocks of so many bytes.
type collective struct {
	name     string
	src, dst func(n int, isRoot bool) int
	// in place, the shorter of the two is this block of the other one.
	own  func(me int) int
	call func(ctx context.Context, team *symmem.Team, dst, src []byte) error
	// parts says what is sent and what comes; nil: it is for others to load and check.
	parts func(x *exercise, n, me int, dst, src []byte, size int)
	// reduces: src are floats, which are added up.
	reduces bool
}

// root of collectives that have one.
const root = 0

func one(int, bool) int                 { return 1 }
func each(n int, _ bool) int            { return n }
func eachAtRoot(n int, isRoot bool) int { return atRoot(n, isRoot) }
func oneAtRoot(_ int, isRoot bool) int  { return atRoot(1, isRoot) }

func atRoot(blocks int, isRoot bool) int {
	if isRoot {
		return blocks
	}
	return 0
}

func ownBlock(me int) int { return me }
func first(int) int       { return 0 }

// ways are the engines of the collective.
func (c *collective) ways() (ways []way) {
	for _, engine := range []string{"auto", "ll64", "ce", "bcopy"} {
		ways = append(ways, way{
			engine: engine, inPlace: c.own != nil, fits: c.fits,
			window: func(cfg *config, t task) int64 {
				return stagingNeed(cfg, t) + int64(cfg.Ranks)*128<<10 + c.windowNeed(cfg, t)
			},
			memory: func(cfg *config, t task) int64 {
				return int64(c.src(cfg.Ranks, true)+c.dst(cfg.Ranks, true))*t.Bytes - c.windowNeed(cfg, t)
			},
			open: func(ctx context.Context, r *rank, t task) (*exercise, error) { return c.open(ctx, r, t) },
		})
	}
	return ways
}

func (c *collective) windowNeed(cfg *config, t task) int64 {
	if t.Dst == dstPrivate {
		return 0
	}
	return int64(c.largest(cfg.Ranks, t)) * t.Bytes
}

// largest is how many blocks the destination of any rank has.
func (c *collective) largest(n int, t task) int {
	if t.InPlace {
		return max(c.src(n, true), c.dst(n, true))
	}
	return c.dst(n, true)
}

func (c *collective) fits(_ *config, t task) error {
	if c.reduces && t.Bytes%floatBytes != 0 {
		return fmt.Errorf("%s adds up floats: %d bytes are no whole number of them", c.name, t.Bytes)
	}
	return nil
}

func (c *collective) open(ctx context.Context, r *rank, t task) (*exercise, error) {
	n, me, size := r.Ranks, r.world.Rank(), int(t.Bytes)
	buf, free, err := r.destination(ctx, t, c.largest(n, t)*size)
	if err != nil {
		return nil, err
	}
	dst := buf[:c.dst(n, me == root)*size]
	src := make([]byte, c.src(n, me == root)*size)
	if t.InPlace {
		switch mine := c.own(me) * size; {
		case len(src) == 0:
		case len(dst) == 0: // its part is nowhere else
		case len(src) <= len(dst):
			src = dst[mine:][:len(src)]
		default:
			src = buf[:len(src)]
			dst = src[mine:][:len(dst)]
		}
	}
	team, giveBack, err := c.teamBy(ctx, r.world.Team(), t, dst, src)
	if err != nil {
		return nil, err
	}
	x := newExercise(t, me)
	x.common = true
	move := func(ctx context.Context) error { return c.call(ctx, team, dst, src) }
	if c.reduces {
		addUp(x, move, n, me, dst, src)
	} else {
		c.parts(x, n, me, dst, src, size)
		x.collective(move)
	}
	x.close = func(ctx context.Context) error {
		if err := giveBack(ctx); err != nil {
			return err
		}
		return free(ctx)
	}
	return x, nil
}

// algoSaid is what the user said himself.
var algoSaid = os.Getenv(env.KeyAlgo)

// teamBy is the world's team, or one of the same ranks whose collectives take
// another engine. A team reads SYMWIN_ALGO when its first collective begins.
func (c *collective) teamBy(ctx context.Context, team *symmem.Team, t task, dst, src []byte) (*symmem.Team, func(context.Context) error, error) {
	if t.Engine == "auto" {
		return team, nothing, nil
	}
	twin, err := team.Split(ctx, 0, team.Rank())
	if err != nil {
		return nil, nil, err
	}
	if err := os.Setenv(env.KeyAlgo, c.name+":"+t.Engine); err != nil {
		return nil, nil, err
	}
	choice, err := symwin.Explain(twin, c.name, int(t.Bytes))
	if err == nil && choice.Engine != t.Engine {
		err = fmt.Errorf("%w: %s does not carry %v", symmem.ErrUsage, t.Engine, choice)
	}
	if err == nil {
		err = c.call(ctx, twin, dst, src) // behind it all ranks have read the variable
	}
	if err != nil {
		return nil, nil, err
	}
	return twin, twin.Close, os.Setenv(env.KeyAlgo, algoSaid)
}

// vectorBytes is the size by which rates of what has no parts are reckoned.
func vectorBytes(_ int, bytes int64) int64 { return bytes }
