package symwin

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/topo"
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

// crossoversOfAll is the table. Bytes are those of one rank's part; of broadcast,
// reduce and allreduce, which have no parts, of the vector. The first row of an
// operation that has enough ranks counts.
//
// Where data goes the engine cannot know: into private memory lines are faster far
// beyond, into windows copies are. So the border is where either loses equally
// much by the other's choice. µs, lines | copies, all in private memory | copies
// into a window, two ranks bound to a CPU each, and eight on the same two, on
// Cascade Lake:
//
//	              4 KiB              16 KiB               64 KiB
//	alltoall      1.1 | 1.4 | 0.5    2.8 | 2.7 | 1.3
//	         8     22 |  62 | 19     104 | 136 | 49
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
// KiB 565 to 259. A broadcast to eight, of which each takes a share that all then
// gather, was slower in windows (256 KiB 90 to 103, 1 MiB 379 to 537) and no
// faster in private memory (271 to 275, 1426 to 1365); a root that reduces alone
// was never slower than one that gathers shares.
var crossoversOfAll = []crossover{
	{symmem.OpAllToAll, 2, 4 << 10, always},
	{symmem.OpAllToAll, many, 8 << 10, always},
	{symmem.OpAllGather, 2, 2 << 10, always},
	{symmem.OpAllGather, many, 16 << 10, always},
	{symmem.OpGather, 2, 2 << 10, always},
	{symmem.OpGather, many, 4 << 10, always},
	{symmem.OpScatter, 2, 2 << 10, always},
	{symmem.OpScatter, many, 4 << 10, always},
	{symmem.OpBroadcast, many, 32 << 10, always},
	{symmem.OpReduce, 2, 64 << 10, always},
	{symmem.OpReduce, many, 32 << 10, always},
	{symmem.OpAllReduce, 2, 16 << 10, 32 << 10},
	{symmem.OpAllReduce, many, 32 << 10, 0},
	{symmem.OpReduceScatter, 2, 8 << 10, always},
	{symmem.OpReduceScatter, many, 4 << 10, always},
}

// crossovers is the table of this machine; its ranks are all here.
var crossovers = sync.OnceValue(func() []crossover { return crossoversOf(topo.AMD()) })

func crossoversOf(amd int) []crossover {
	switch {
	case amd >= topo.Zen5:
		return slices.Concat(crossoversZen5, crossoversOfAll)
	case amd > 0:
		return slices.Concat(crossoversAMD, crossoversOfAll)
	}
	return crossoversOfAll
}

// crossoversAMD are the rows that come before those on AMD's processors. There a rank gets
// back a line that both write, as those of slots are, at 7 to 9 GB/s only, while
// copies that stay in the caches are faster. Zen 4, two ranks, as above; eight ranks
// as there:
//
//	              2 KiB                4 KiB                8 KiB
//	alltoall      0.32 | 0.46 | 0.38   0.69 | 0.58 | 0.44   1.31 | 0.96 | 0.57
//	allgather     0.34 | 0.53          0.54 | 0.66 | 0.53   1.27 | 1.09 | 0.74
//	gather        0.47 | 0.67 | 0.44   0.84 | 0.74 | 0.45   1.69 | 0.74 | 0.53
//	scatter       0.37 | 0.62 | 0.30   0.79 | 0.78 | 0.42   1.92 | 0.98 | 0.44
//	broadcast     0.23 | 0.65 | 0.41   0.41 | 0.77 | 0.44   0.74 | 0.96 | 0.66
//	reduce        0.33 | 0.74          0.56 | 0.82          1.25 | 0.81
//	allreduce     0.51 | 0.87          0.90 | 0.95          1.50 | 1.27
//	reducescatter 0.59 | 0.77          1.00 | 0.92          1.72 | 1.24
var crossoversAMD = []crossover{
	{symmem.OpAllToAll, 2, 2 << 10, always},
	{symmem.OpBroadcast, 2, 8 << 10, always},
	{symmem.OpReduce, 2, 4 << 10, always},
	{symmem.OpAllReduce, 2, 4 << 10, 32 << 10},
	{symmem.OpReduceScatter, 2, 2 << 10, always},
}

// crossoversZen5 are the same from Zen 5 on, where "rep movsb" takes lines from another
// processor without what is in them, and lines carry more (near; as above, but for two
// ranks where the program reads and rewrites the data, in private memory | in windows,
// and for eight ranks into windows):
//
//	              4 KiB                8 KiB                16 KiB
//	alltoall      0.32 | 0.48 | 0.40   0.58 | 0.69 | 0.59   1.05 | 1.17 | 1.00
//	allgather     0.32 | 0.51 | 0.43   0.55 | 0.70 | 0.59   0.99 | 1.11 | 0.92
//	gather        0.21 | 0.49 | 0.40   0.35 | 0.64 | 0.53   0.67 | 0.94 | 0.80
//	         8     4.9 | 12            5.8 | 12             8.1 | 14
//	scatter       0.27 | 0.47 | 0.35   0.42 | 0.58 | 0.45   0.77 | 0.79 | 0.66
//	broadcast     0.16 | 0.46 | 0.35   0.27 | 0.57 | 0.43   0.45 | 0.77 | 0.65
//	reduce        0.18 | 0.55          0.30 | 0.64          0.54 | 0.92
//	allreduce     0.30 | 0.57          0.46 | 0.68          0.80 | 0.90
//	reducescatter 0.42 | 0.49          0.49 | 0.59          0.88 | 0.90
//
// (Copies have become faster by 0.03 to 0.06 since.) Where the program leaves the data
// alone, copies into windows take 0.20 to 0.24 for 4 and 8 KiB, and lines 0.15 to 0.25,
// but for alltoall and allgather of 8 KiB 0.39; far, 0.65 and 0.70, and lines 0.88 and 0.98.
var crossoversZen5 = []crossover{
	{symmem.OpAllToAll, 2, 4 << 10, always},
	{symmem.OpAllGather, 2, 4 << 10, always},
	{symmem.OpGather, 2, 16 << 10, always},
	{symmem.OpGather, many, 32 << 10, always},
	{symmem.OpScatter, 2, 8 << 10, always},
	{symmem.OpReduceScatter, 2, 8 << 10, always},
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
type route struct {
	lines, direct int
	staged        bool   // copies go through the ring, wherever they come from and go
	why           uint64 // what a record's digest has of it
}

// plan is all routes of one team.
type plan struct {
	of     [symmem.OpReduceScatter + 1]route
	forced [symmem.OpReduceScatter + 1]bool // by SYMWIN_ALGO
	most   int                              // bytes of the largest block that lines carry
	digest uint64                           // of the table and what was said by hand
}

// lines reports whether bytes of an operation go through lines, and which engine
// that makes for its record, and why.
func (p *plan) lines(call *symmem.Record, bytes int) bool {
	call.Digest += p.of[call.Op].why
	if bytes <= p.of[call.Op].lines {
		call.Engine = symmem.EngineLL64
		return true
	}
	p.engine(call, call.Op)
	return false
}

// engine is which one copies what an operation does not send through lines.
func (p *plan) engine(call *symmem.Record, op symmem.Op) {
	call.Engine = symmem.EngineCE
	if p.of[op].staged {
		call.Engine = symmem.EngineBCopy
	}
}

// planFor is the table for one team, with what SYMWIN_ALGO says about it.
func planFor(team *Team) (*plan, error) {
	said, err := parseAlgo(env.Get(env.KeyAlgo))
	if err != nil {
		return nil, err
	}
	n := team.Size()
	p := &plan{digest: said.digest()}
	for _, c := range slices.Backward(crossovers()) { // so that the first row stays
		if n <= c.ranks {
			p.of[c.op] = route{lines: min(c.lines, slotBytes(n)/blocksIn(c.op, n)), direct: c.direct}
		}
	}
	for op, way := range said {
		p.of[op].lines = min(way.lines, slotBytesByHand(team)/blocksIn(op, n))
		p.of[op].staged = way.staged
		p.forced[op] = true
	}
	for op, r := range p.of {
		p.of[op].why = symmem.Border{Bytes: r.lines, ByHand: p.forced[op]}.Digest()
		p.most = max(p.most, r.lines*blocksIn(symmem.Op(op), n))
	}
	return p, nil
}

// blocksIn is how many parts of an operation lines carry in one block, at most: scatter
// is a broadcast of the others' parts, reducescatter an allreduce of all.
func blocksIn(op symmem.Op, n int) int {
	if op == symmem.OpScatter || op == symmem.OpReduceScatter {
		return n
	}
	return 1
}

// algo is what SYMWIN_ALGO says, by operation.
type algo map[symmem.Op]byHand

type byHand struct {
	lines  int  // up to so many bytes go through lines, -1: none
	staged bool // all copies through the ring
}

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
			a[op] = byHand{lines: -1}
		case symmem.EngineBCopy.String():
			a[op] = byHand{lines: -1, staged: true}
		case symmem.EngineLL64.String():
			a[op] = byHand{lines: math.MaxInt}
		default:
			bytes, err := env.Size(way)
			if err != nil {
				return nil, fmt.Errorf("%w: %s=%q: %q is no way to carry %s; write ce (copies), bcopy (copies through the staging ring), ll64 (lines) or up to how many bytes lines carry it, such as 16K", ErrUsage,
					env.KeyAlgo, text, way, name)
			}
			a[op] = byHand{lines: int(bytes)}
		}
	}
	return a, nil
}

// opNamed finds an operation of the table.
func opNamed(name string) (symmem.Op, bool) {
	for _, c := range crossoversOfAll {
		if c.op.String() == name {
			return c.op, true
		}
	}
	return 0, false
}

func opNames() (names []string) {
	for i, c := range crossoversOfAll {
		if i == 0 || crossoversOfAll[i-1].op != c.op {
			names = append(names, c.op.String())
		}
	}
	return names
}

// digest is what ranks compare: of every number that the choice rests on.
func (a algo) digest() uint64 {
	h := fnv.New64a()
	for _, c := range crossovers() {
		way, said := a[c.op]
		fmt.Fprintln(h, c.op, c.ranks, c.lines, c.direct, said, way)
	}
	return h.Sum64()
}
