package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/shm"
)

// op is one thing that can be measured. Each stands in a file of its own.
type op struct {
	name, text string
	// engines that may be asked for; auto is among them always.
	engines []string
	// low and high are the sizes measured where none are asked for; both zero: it
	// has no sizes.
	low, high int64
	// factor is the step from one to the next, 0: 2.
	factor int64
	// least is how many ranks it needs. few: it is measured with as many where
	// nothing else is asked for, otherwise with a rank for each CPU.
	least int
	few   bool
	// ranks says what else is wrong with n of them, or nil.
	ranks func(n int) error
	// fits says what is wrong with a size that engine cannot carry, or nil.
	fits func(c *Config, bytes int64) error
	// window and memory are what one rank takes of its window, and beside it, at
	// one size.
	window, memory func(c *Config, bytes int64) int64
	// total is how many bytes all ranks move in an operation; 0 or a nil total:
	// no rate is shown.
	total func(Row) int64
	// run measures all sizes and reports the rows.
	run func(ctx context.Context, r *rank) error
}

// ops is the table. It is filled by init, since what is in it refers to it.
var ops []*op

func init() { ops = []*op{latency, barrier, allToAll, limits} }

func findOp(name string) (*op, error) {
	for _, o := range ops {
		if o.name == name {
			return o, nil
		}
	}
	return nil, fmt.Errorf("no operation %q; there are %s", name, list(opNames()))
}

// check says why c cannot be measured, before anything is started.
func (o *op) check(c *Config) error {
	if !slices.Contains(o.engines, c.Engine) {
		return fmt.Errorf("%s has no engine %q; it has %s", o.name, c.Engine, list(o.engines))
	}
	if c.Ranks < o.least {
		return fmt.Errorf("%s needs at least %d ranks, not %d", o.name, o.least, c.Ranks)
	}
	if o.ranks != nil {
		if err := o.ranks(c.Ranks); err != nil {
			return err
		}
	}
	// The largest is what people want to hear of first.
	for _, bytes := range slices.Backward(c.Sizes) {
		if err := o.carries(c, bytes); err != nil {
			return err
		}
	}
	return nil
}

// carries says why one size cannot be measured.
func (o *op) carries(c *Config, bytes int64) error {
	if o.fits != nil {
		if err := o.fits(c, bytes); err != nil {
			return err
		}
	}
	if need, have := o.window(c, bytes)+pageSize, c.Window; need > have {
		return fmt.Errorf("%s of %s with %d ranks does not fit the window: need %d bytes on each rank, have %d; raise --window or lower --max",
			o.name, env.FormatSize(bytes), c.Ranks, need, have)
	}
	if need, have := (o.window(c, bytes)+pageSize)*int64(c.Ranks), c.Shm; have != 0 && need > have {
		return fmt.Errorf("%s of %s with %d ranks does not fit %s: need %d bytes, have %d; take --backing memfd or lower --max",
			o.name, env.FormatSize(bytes), c.Ranks, shm.Dir(), need, have)
	}
	need := (o.window(c, bytes) + o.memory(c, bytes)) * int64(c.Ranks)
	if have, ok := availableMemory(); ok && need > have {
		return fmt.Errorf("%s of %s with %d ranks does not fit the memory: need %d bytes, have %d; lower --max or -n",
			o.name, env.FormatSize(bytes), c.Ranks, need, have)
	}
	return nil
}

// sweep measures, at each size, the exercise that open makes.
func sweep(ctx context.Context, r *rank, open func(bytes int64) (*exercise, error)) error {
	for _, bytes := range r.Sizes {
		x, err := open(bytes)
		if err != nil {
			return err
		}
		if err := r.row(ctx, x, Row{Engine: r.Engine, Ranks: r.Ranks, Bytes: bytes}); err != nil {
			return err
		}
	}
	return nil
}

// list reads "a", "a and b", "a, b and c".
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return "none"
	case 1:
		return words[0]
	default:
		text := words[0]
		for _, w := range words[1 : n-1] {
			text += ", " + w
		}
		return text + " and " + words[n-1]
	}
}
