package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/symwin/symwin/bench/peers"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/launch"
)

// request is what the command line asks for, as it stands there.
type request struct {
	low, high, factor int64 // 0: not given
	iters, warmup     int
	reps              int
	engine, touch     string
	dst, format, file string
	plot, report      string
	quick             bool
	failOver          float64 // compare: the slowdown that fails it, 0: none
	check, inPlace    bool
	tails             bool
	peers             []string
	launch            *launch.Options
	words             []string // what is no flag
	given             []given  // the flags that stand there
}

// given is a flag of the command line as it may be given to another.
type given struct{ name, text string }

// auto is --iters' word for "as many as it takes", and --engine's for the front
// door's choice.
const auto = "auto"

func flagSet(q *request) *pflag.FlagSet {
	fs := pflag.NewFlagSet("shmrun bench", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	fs.Usage = func() {}
	flag := func(name, short, usage string, set func(string) error, words ...string) {
		fs.VarP(&launch.Value{Read: set, Words: words}, name, short, usage)
	}
	oneOf := func(name, usage string, to *string, words ...string) {
		*to = words[0]
		flag(name, "", usage, func(s string) error {
			if !slices.Contains(words, s) {
				return fmt.Errorf("%q: there are %s", s, list(words))
			}
			*to = s
			return nil
		}, words...)
	}
	flag("min", "b", "the smallest `SIZE`; bytes, or 64K, 1M (powers of 1024)", sizeInto(&q.low))
	flag("max", "e", "the largest `SIZE`", sizeInto(&q.high))
	flag("message-size", "m", "both, as OSU does: `[MIN:]MAX`", func(s string) error {
		low, high, two := strings.Cut(s, ":")
		if low == "" && high == "" {
			return fmt.Errorf("%q is no size and no range of sizes", s)
		}
		if !two {
			low, high = "", s
		}
		for _, end := range []struct {
			text string
			to   *int64
		}{{low, &q.low}, {high, &q.high}} {
			if end.text == "" {
				continue
			}
			if err := sizeInto(end.to)(end.text); err != nil {
				return err
			}
		}
		return nil
	})
	flag("factor", "f", "each size is `N` times the one before (default 2; limits 4)", func(s string) error {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n < 2 {
			return fmt.Errorf("%q is no factor; it is 2 or more", s)
		}
		q.factor = n
		return nil
	})
	flag("iters", "i", "`N` operations inside the clock in each repetition, rounded up to whole blocks; auto (default): as many as fit into 0.2 s a row; for peers as for symwin", func(s string) error {
		if s == auto {
			q.iters = 0
			return nil
		}
		return number(&q.iters, 1, "no number of iterations; it is 1 or more, or auto")(s)
	})
	flag("warmup", "w", "`N` operations more before the clock starts (default 0: the 3 to 8 that are checked)", number(&q.warmup, 0, "no number of operations"))
	q.reps = defaultReps
	flag("reps", "", "`N` repetitions of each row, in turns with the peers (default 5); gobench writes a line for each", number(&q.reps, 1, "no number of repetitions; it is 1 or more"))
	q.engine = auto
	flag("engine", "", "`ENGINE` that carries the data: auto (default; the front door's choice), ll16 and ll64 (tagged lines: elements, blocks), ce (copies), bcopy (copies that all go through the staging ring), views (no copy: receivers look into the senders' buffers)", func(s string) error {
		q.engine = s // the operation knows whether it has it
		return nil
	}, engines()...)
	oneOf("touch", "`WHAT` the program does with the data inside the clock: none (default, as OSU; flatters whoever leaves the data in the sender's cache), "+
		"read (the receiver reads every byte), full (and the sender rewrites its buffer)", &q.touch, touchNone, touchRead, touchFull)
	q.check = true
	flag("check", "c", "`on` (default): compare every byte outside the clock; off", func(s string) error {
		on, ok := map[string]bool{"on": true, "1": true, "off": false, "0": false}[s]
		if !ok {
			return fmt.Errorf("%q is neither on nor off", s)
		}
		q.check = on
		return nil
	}, "on", "off")
	fs.BoolVar(&q.inPlace, "inplace", false, "source and destination are the same memory")
	oneOf("dst", "`WHERE` the data of a collective arrives: window (default; one copy), private (any memory, the engine copies out)", &q.dst, dstWindow, dstPrivate)
	fs.BoolVar(&q.tails, "tails", false, "for each row also time single operations (round trips and flights of messages as a whole, and then divided), in a pass of their own: a # line with p50 to p99.99")
	oneOf("format", "`FORMAT` of the rows: table (default), json (an object a line), csv, gobench (for benchstat)", &q.format, formats...)
	file := func(to *string) func(string) error {
		return func(s string) error {
			if s == "" {
				return fmt.Errorf("%q is no name of a file", s)
			}
			*to = s
			return nil
		}
	}
	flag("out", "", "write to `FILE` instead of the standard output; all: its rows as JSON", file(&q.file))
	flag("plot", "", "also draw the rows into `FILE`.svg or .png (two pixels for one): time and bandwidth, peers and limit; limits: core to core", func(s string) error {
		if _, err := pictureKind(s); err != nil {
			return err
		}
		q.plot = s
		return nil
	})
	flag("report", "", "also write a page of HTML into `FILE`: header, tables and drawings, all in the one file (all: default "+defaultReport+")", file(&q.report))
	flag("peer", "", "`LIST` of others to measure in turns with symwin: "+strings.Join(peers.Names, ", ")+", or all, or none", func(s string) error {
		if q.peers = nil; s == "none" {
			return nil
		}
		for name := range strings.SplitSeq(s, ",") {
			switch {
			case name == "all":
				q.peers = peers.Names
			case !slices.Contains(peers.Names, name):
				return fmt.Errorf("%q is no peer; there are %s", name, list(peers.Names))
			case !slices.Contains(q.peers, name):
				q.peers = append(q.peers, name)
			}
		}
		return nil
	}, append([]string{"all", "none"}, peers.Names...)...)
	fs.BoolVar(&q.quick, "quick", false, "all: fewer operations and sizes")
	flag("fail-over", "", "compare: exit code 1 for a row that is slower by more than `PERCENT`, and significantly; also for one that B lacks or that has too few repetitions to tell (not of limits), and where all rows are of different states", percent(&q.failOver))
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
	fs.Visit(func(f *pflag.Flag) { q.given = append(q.given, given{f.Name, f.Value.String()}) })
	return q, nil
}

// number reads a number of at least least.
func number(to *int, least int, what string) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > 1e12 {
			return fmt.Errorf("%q is %s", s, what)
		}
		*to = n
		return nil
	}
}

// percent reads 10% or 10.
func percent(to *float64) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
		if err != nil || !(n > 0 && n < 1e6) {
			return fmt.Errorf("%q is no share above 0, such as 10%%", s)
		}
		*to = n
		return nil
	}
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
