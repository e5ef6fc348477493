package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/shm"
)

// op is one thing that can be measured. Each stands in a file of its own.
type op struct {
	name, text string
	// What it is called in the OSU benchmarks, in nccl-tests and in IMB; several
	// names are separated by blanks.
	osu, nccl, imb string
	// ways are the engines that can carry it, the default first. An engine that
	// comes later appends its own, in a file of its own.
	ways []way
	// low and high are the sizes measured where none are asked for; both zero: it
	// has no sizes. factor is the step from one to the next, 0: 2.
	low, high, factor int64
	// least is how many ranks it needs. few: it is measured with as many where
	// nothing else is asked for, otherwise with a rank for each CPU. pairs: their
	// number is even, and neighbours work together.
	least      int
	few, pairs bool
	// total is the size by which algbw is reckoned, nil: no rates. bus is what
	// busbw is of it, nil: the same.
	total func(n int, bytes int64) int64
	bus   func(n int) float64
	// moved is how many bytes all ranks together must move in one operation, 0
	// where only the exchange counts; nil: there is no limit to compare with.
	moved func(n int, bytes int64) int64
	// trials are its rows where they are not simply one a size.
	trials func(j *job) []trial
	// own is what is measured where the operation is none of the ranks, and bare
	// the limit beside it.
	own, bare func(j *job) subject
}

// way is how one engine does an operation.
type way struct {
	engine string
	// fits says what is wrong with a task that this engine cannot do, or nil.
	fits func(c *config, t task) error
	// window and memory are what one rank takes of its window, and beside it; nil:
	// nothing to speak of.
	window, memory func(c *config, t task) int64
	inPlace        bool // it can be done in place
	open           func(ctx context.Context, r *rank, t task) (*exercise, error)
}

// ops is the table. It is filled by init, since what is in it refers to it.
var ops []*op

func init() {
	ops = []*op{latency, bandwidth, bothWays, rate, put, barrier, allToAll, allToAllv, allToAllvSkewed, allGather, gather, scatter, broadcast, reduce, allReduce, reduceScatter, startup, wait, limits}
}

func opNames() (names []string) {
	for _, o := range ops {
		names = append(names, o.name)
	}
	return names
}

// findOp finds an operation by our name or by one of another suite.
func findOp(name string) (*op, error) {
	for _, o := range ops {
		elsewhere := strings.Fields(strings.ToLower(o.osu + " " + o.nccl + " " + o.imb))
		if o.name == name || slices.Contains(elsewhere, strings.ToLower(name)) {
			return o, nil
		}
	}
	return nil, fmt.Errorf("no operation %q; there are %s", name, list(opNames()))
}

// engines are the names of all engines that any operation has.
func engines() (names []string) {
	for _, o := range ops {
		for _, name := range o.engines() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (o *op) engines() (names []string) {
	for _, w := range o.ways {
		names = append(names, w.engine)
	}
	return names
}

func (o *op) way(engine string) (*way, error) {
	for i := range o.ways {
		if o.ways[i].engine == engine {
			return &o.ways[i], nil
		}
	}
	return nil, fmt.Errorf("%s has no engine %q; it has %s", o.name, engine, list(o.engines()))
}

// carries says why one task cannot be done, before anything is started.
func (o *op) carries(j *job, t task) error {
	w, err := o.way(t.Engine)
	if err != nil || o.own != nil {
		return err
	}
	if w.fits != nil {
		if err := w.fits(&j.config, t); err != nil {
			return err
		}
	}
	window, need := o.memory(&j.config, w, t)
	what := fmt.Sprintf("%s of %s with %d ranks does not fit", o.name, env.FormatSize(t.Bytes), j.Ranks)
	if have := j.Window; window > have {
		return fmt.Errorf("%s the window: need %d bytes on each rank, have %d; raise --window or lower --max", what, window, have)
	}
	if need, have := window*int64(j.Ranks), j.shm; have >= 0 && need > have {
		return fmt.Errorf("%s %s: need %d bytes, have %d; take --backing memfd or lower --max", what, shm.Dir(), need, have)
	}
	if have, ok := memoryRoom(); ok && need > have {
		return fmt.Errorf("%s the memory: need %d bytes, have %d; lower --max or -n", what, need, have)
	}
	return nil
}

// memory is what a task takes of each window, and what all ranks take together.
func (o *op) memory(c *config, w *way, t task) (window, all int64) {
	window = pageSize
	if w.window != nil {
		window += w.window(c, t)
	}
	all = window
	if w.memory != nil {
		all += w.memory(c, t)
	}
	all *= int64(c.Ranks)
	if copiers, each := o.copies(c, t.Bytes); copiers > 0 { // from and to, beside ours
		all += 2 * int64(copiers) * each
	}
	return window, all
}

// neighbours are the ranks that work in pairs: 0 and 1, 2 and 3, …
func neighbour(rank int) int { return rank ^ 1 }

// The sizes by which rates are reckoned.
func perRank(n int, bytes int64) int64 { return int64(n) * bytes }     // all that a rank sends
func perPair(n int, bytes int64) int64 { return int64(n) / 2 * bytes } // a message of each pair

// everyVector is what a reduction must move: each rank's vector is read once, and
// where all want the sum, as much is written.
func everyVector(n int, bytes int64) int64 { return int64(n) * bytes }

// The factors of nccl-tests.
func allButOwn(n int) float64 { return float64(n-1) / float64(n) }

// list reads "a", "a and b", "a, b and c".
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return "none"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}
