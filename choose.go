package symwin

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/symmem"
)

// crossover says which engine carries an operation among so many ranks. All ranks
// decide by operation, team size, bytes and this table alone, so they agree
// without a word.
type crossover struct {
	op    symmem.Op
	ranks int // up to so many
	// lines is up to how many bytes tagged lines (package lla2a) are the faster
	// way; what is larger is copied (package ce).
	lines int
	// direct is up to how many bytes copies go in one step, from their source to
	// where they are wanted; what is larger goes in two, of which each rank does
	// its share.
	direct int
}

// always as crossover.direct: a second step never pays, or there is none.
const always = math.MaxInt

// many ranks: as many as there may be.
const many = math.MaxInt

// crossovers is the table. Bytes are those of one rank's part; of broadcast,
// reduce and allreduce, which have no parts, of the vector. The first row of an
// operation that has enough ranks counts.
//
// Where data goes the engine cannot know: into private memory lines are faster far
// beyond, into windows copies are. So the border is where either loses equally
// much by the other's choice. µs, lines | copies, all in private memory | copies
// into a window, two ranks bound to a CPU each, and eight on the same two:
//
//	              4 KiB              16 KiB               64 KiB
//	alltoall      1.4 | 3.5 | 0.9    3.7 | 7.2 | 1.8
//	         8     37 | 106 | 29     127 | 223 | 81
//	allgather     1.1 | 1.4 | 0.6    2.7 | 3.1 | 1.3      9.0 | 9.6 | 3.6
//	         8     18 |  56 | 19      51 | 158 | 57
//	gather        1.1 | 1.4 | 0.6    2.7 | 3.3 | 1.0      9.1 | 7.1 | 2.2
//	         8     20 |  25 | 23      36 |  31 | 19
//	scatter       1.0 | 1.3 | 0.6    2.7 | 2.6 | 1.3
//	         8     12 |  24 | 17
//	broadcast     0.7 | 1.4 | 0.6    1.3 | 3.3 | 0.9      4.1 | 6.9 | 2.0
//	         8      5 |  21 | 26       9 |  26 | 29
//	reduce        1.0 | 1.5 | 1.5    2.2 | 3.4 | 3.4      6.4 | 7.2 | 7.2
//	         8      9 |  22 | 20      18 |  26 | 23
//	allreduce     1.2 | 1.6 | 1.6    3.1 | 3.3 | 3.6
//	         8     20 |  42 | 55      28 |  80 | 48
//	reducescatter 1.5 | 1.6 | 1.6    3.3 | 3.4 | 3.2
//
// And in two steps instead of one: allreduce of two, in windows, 64 KiB 9.4 to
// 7.1, 256 KiB 37 to 22, but 16 KiB in private memory 3.4 to 4.6; of eight, 128
// KiB 565 to 259; broadcast to eight, 2 MiB into windows 3080 to 870, 512 KiB in
// private memory 516 to 466, 128 KiB 114 to 144. A root that reduces alone was
// never slower than one that gathers shares.
var crossovers = []crossover{
	{symmem.OpAllToAll, many, 8 << 10, always},
	{symmem.OpAllGather, 2, 2 << 10, always},
	{symmem.OpAllGather, many, 16 << 10, always},
	{symmem.OpGather, 2, 2 << 10, always},
	{symmem.OpGather, many, 4 << 10, always},
	{symmem.OpScatter, 2, 2 << 10, always},
	{symmem.OpScatter, many, 4 << 10, always},
	{symmem.OpBroadcast, 4, 32 << 10, always},
	{symmem.OpBroadcast, many, 32 << 10, 256 << 10},
	{symmem.OpReduce, 2, 64 << 10, always},
	{symmem.OpReduce, many, 32 << 10, always},
	{symmem.OpAllReduce, 2, 16 << 10, 32 << 10},
	{symmem.OpAllReduce, many, 32 << 10, 0},
	{symmem.OpReduceScatter, 2, 8 << 10, always},
	{symmem.OpReduceScatter, many, 2 << 10, always},
}

// slotBytes is what memory allows among many ranks: every member has two slots for
// every other, which take 2·ranks·(64 + bytes) of its window: here at most 512 KiB
// and 384 bytes a rank.
func slotBytes(ranks int) int { return max(256<<10/ranks, 64) }

// slotBytesByHand is what SYMWIN_ALGO can ask for beyond that.
func slotBytesByHand(team *Team) int {
	return int(min(64<<10, team.World().Geometry().Window/int64(32*team.Size())))
}

// route is a crossover as one team has it.
type route struct{ lines, direct int }

// plan is all routes of one team.
type plan struct {
	of     [symmem.OpReduceScatter + 1]route
	forced [symmem.OpReduceScatter + 1]bool // by SYMWIN_ALGO
	most   int                              // bytes of the largest block that lines carry
	digest uint64                           // of the table and what was said by hand
}

// lines reports whether bytes of an operation go through lines, and which engine
// that makes for its record.
func (p *plan) lines(call *symmem.Record, bytes int) bool {
	if bytes <= p.of[call.Op].lines {
		call.Engine = symmem.EngineLL64
		return true
	}
	call.Engine = symmem.EngineCE
	return false
}

// planFor is the table for one team, with what SYMWIN_ALGO says about it.
func planFor(team *Team) (*plan, error) {
	said, err := parseAlgo(env.Get(env.KeyAlgo))
	if err != nil {
		return nil, err
	}
	n := team.Size()
	p := &plan{digest: said.digest()}
	for i := len(crossovers) - 1; i >= 0; i-- { // so that the first row stays
		if c := crossovers[i]; n <= c.ranks {
			p.of[c.op] = route{min(c.lines, slotBytes(n)/blocksIn(c.op, n)), c.direct}
		}
	}
	for op, bytes := range said {
		p.of[op].lines = min(bytes, slotBytesByHand(team)/blocksIn(op, n))
		p.forced[op] = true
	}
	for op, r := range p.of {
		p.most = max(p.most, r.lines*blocksIn(symmem.Op(op), n))
	}
	return p, nil
}

// blocksIn is how many parts of an operation lines carry in one block: scatter is
// a broadcast of all parts, reducescatter an allreduce.
func blocksIn(op symmem.Op, n int) int {
	if op == symmem.OpScatter || op == symmem.OpReduceScatter {
		return n
	}
	return 1
}

// algo is what SYMWIN_ALGO says: by operation up to how many bytes go through
// lines, -1 for none.
type algo map[symmem.Op]int

// parseAlgo reads "alltoall:ce,allreduce:ll64,allgather:16K".
func parseAlgo(text string) (algo, error) {
	a := algo{}
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, way, found := strings.Cut(item, ":")
		op, known := opNamed(name)
		if !found || !known {
			return nil, fmt.Errorf("%w: %s=%q: %q is no operation and engine such as alltoall:ce; operations are %s", ErrUsage,
				env.KeyAlgo, text, item, strings.Join(opNames(), ", "))
		}
		switch way {
		case symmem.EngineCE.String():
			a[op] = -1
		case symmem.EngineLL64.String():
			a[op] = math.MaxInt
		default:
			bytes, err := env.Size(way)
			if err != nil {
				return nil, fmt.Errorf("%w: %s=%q: %q is no way to carry %s; write ce (copies), ll64 (lines) or up to how many bytes lines carry it, such as 16K", ErrUsage,
					env.KeyAlgo, text, way, name)
			}
			a[op] = int(bytes)
		}
	}
	return a, nil
}

// opNamed finds an operation of the table.
func opNamed(name string) (symmem.Op, bool) {
	for _, c := range crossovers {
		if c.op.String() == name {
			return c.op, true
		}
	}
	return 0, false
}

func opNames() (names []string) {
	for i, c := range crossovers {
		if i == 0 || crossovers[i-1].op != c.op {
			names = append(names, c.op.String())
		}
	}
	return names
}

// digest is what ranks compare: of every number that the choice rests on.
func (a algo) digest() uint64 {
	h := fnv.New64a()
	for _, c := range crossovers {
		lines, said := a[c.op]
		fmt.Fprintln(h, c.op, c.ranks, c.lines, c.direct, said, lines)
	}
	return h.Sum64()
}
