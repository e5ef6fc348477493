package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/launch"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
)

// request is what the command line asks for, as it stands there.
type request struct {
	low, high, factor int64 // 0: not given
	iters             int
	engine            string
	dst               string
	format            string
	launch            *launch.Options
	words             []string // what is no flag
}

// auto is --iters' word for "as many as it takes".
const auto = "auto"

func flagSet(q *request) *pflag.FlagSet {
	fs := pflag.NewFlagSet("shmrun bench", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	fs.Usage = func() {}
	flag := func(name, short, usage string, set func(string) error) {
		fs.VarP(&value{set: set}, name, short, usage)
	}
	flag("min", "b", "the smallest `SIZE`; bytes, or 64K, 1M (powers of 1024)", sizeInto(&q.low))
	flag("max", "e", "the largest `SIZE`", sizeInto(&q.high))
	flag("factor", "f", "each size is `N` times the one before (default 2; limits 4)", func(s string) error {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n < 2 {
			return fmt.Errorf("%q is no factor; it is 2 or more", s)
		}
		q.factor = n
		return nil
	})
	flag("iters", "i", "`N` operations a row inside the clock, rounded up to whole blocks; auto (default): as many as fit into 0.2 s", func(s string) error {
		if s == auto {
			q.iters = 0
			return nil
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1e12 {
			return fmt.Errorf("%q is no number of iterations; it is 1 or more, or auto", s)
		}
		q.iters = n
		return nil
	})
	fs.StringVar(&q.engine, "engine", auto, "`ENGINE` that carries the data: auto (the front door's choice), ll16 (tagged lines), ce (copies)")
	fs.StringVar(&q.dst, "dst", dstWindow, "`WHERE` alltoall's data arrives: window (one copy), private (any memory, the engine copies out)")
	fs.StringVar(&q.format, "format", formats[0], "`FORMAT` of the rows: table, json (an object a row)")
	q.launch = launch.Flags(fs)
	ranks := *fs.Lookup("np")
	ranks.Name, ranks.Shorthand, ranks.Usage = "ranks", "", "`N` ranks: the same as --np"
	fs.AddFlag(&ranks)
	return fs
}

// parse reads the command line. Flags may stand before and after the operation.
func parse(args []string) (*request, error) {
	q := new(request)
	fs := flagSet(q)
	if err := launch.Parse(fs, args, true); err != nil {
		return nil, err
	}
	q.words = fs.Args()
	return q, nil
}

// config makes of a request what is measured, and says what is wrong with it.
// options are the launcher's, completed by what the operation needs.
func (q *request) config() (c *Config, options launch.Options, err error) {
	options = *q.launch
	switch len(q.words) {
	case 0:
		return nil, options, fmt.Errorf("no operation to measure; there are %s", list(opNames()))
	case 1:
	default:
		return nil, options, fmt.Errorf("one operation at a time: %q after %q", q.words[1], q.words[0])
	}
	o, err := findOp(q.words[0])
	if err != nil {
		return nil, options, err
	}
	if !slices.Contains(formats, q.format) {
		return nil, options, fmt.Errorf("no format %q; there are %s", q.format, list(formats))
	}
	if q.dst != dstWindow && q.dst != dstPrivate {
		return nil, options, fmt.Errorf("no --dst %q; there are %s", q.dst, list([]string{dstWindow, dstPrivate}))
	}
	c = &Config{Op: o.name, Engine: q.engine, Ranks: options.N, Iters: q.iters, Dst: q.dst}
	if c.Sizes, err = q.sizes(o); err != nil {
		return nil, options, err
	}
	machine, err := topo.Here()
	if err != nil {
		return nil, options, err
	}
	c.CPUs = cpusOf(machine)
	if c.Ranks == 0 {
		c.Ranks = max(len(c.CPUs), o.least)
		if o.few {
			c.Ranks = o.least
		}
	}
	if o == limits {
		options.BindTo = topo.None
	}
	c.Plan = machine.Plan(cmp.Or(options.BindTo, topo.Share), c.Ranks)
	if c.Window = options.Window; c.Window == 0 {
		if c.Window, err = env.Size(env.Get(env.KeyWindow)); err != nil {
			return nil, options, fmt.Errorf("%s: %w", env.KeyWindow, err)
		}
	}
	if options.Backing == symmem.BackingShm { // otherwise the region goes where there is room
		if c.Shm, err = shm.Free(); err != nil {
			return nil, options, err
		}
	}
	options.N = c.Ranks
	// What nobody asked for is left out where it cannot be.
	for last := len(c.Sizes) - 1; q.high == 0 && last > 0 && o.carries(c, c.Sizes[last]) != nil; last-- {
		c.Sizes = c.Sizes[:last]
	}
	return c, options, o.check(c)
}

// sizes are those of the sweep. A bound that was not given makes room for the
// other.
func (q *request) sizes(o *op) ([]int64, error) {
	low, high := q.low, q.high
	if low != 0 && high != 0 && low > high {
		return nil, fmt.Errorf("--min %s is more than --max %s", env.FormatSize(low), env.FormatSize(high))
	}
	if o.high == 0 {
		return nil, nil
	}
	if high == 0 {
		high = max(o.high, low)
	}
	if low == 0 {
		low = min(o.low, high)
	}
	return sizes(low, high, cmp.Or(q.factor, o.factor, 2)), nil
}

// sizeInto reads a size of at least one byte.
func sizeInto(to *int64) func(string) error {
	return func(s string) error {
		n, err := env.Size(s)
		if err == nil && (n < 1 || n > maxSize) {
			err = fmt.Errorf("a size is 1 byte to %s", env.FormatSize(maxSize))
		}
		*to = n
		return err
	}
}

func cpusOf(m topo.Machine) (ids []int) {
	for _, c := range m {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids
}

// value is a flag whose meaning is a function; its default stands in the usage.
type value struct {
	set  func(string) error
	text string
}

func (v *value) Set(s string) error { v.text = s; return v.set(s) }
func (v *value) String() string     { return v.text }
func (v *value) Type() string       { return "" }
