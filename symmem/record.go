package symmem

import (
	"fmt"
	"math"
	"reflect"
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/internal/reduce"
)

// Op is an operation as call records name it.
type Op uint16

// The operations. Their numbers are part of the region's layout: append only.
const (
	OpNone Op = iota
	OpBarrier
	OpSplit
	OpTeamClose
	OpAlloc
	OpFree
	OpOpen
	OpClose
	OpEndEpoch
	OpAllToAll
	OpAllToAllv
	OpBatch
	OpSend
	OpRecv
	OpWaitSignal
	OpViews
	OpBroadcast
	OpAllGather
	OpAllReduce
	OpAllGatherv
	OpGather
	OpScatter
	OpReduce
	OpReduceScatter
	opCount
)

var opNames = [opCount]string{"none", "barrier", "split", "team-close", "alloc", "free", "open", "close",
	"end-epoch", "alltoall", "alltoallv", "batch", "send", "recv", "wait-signal", "views",
	"broadcast", "allgather", "allreduce", "allgatherv", "gather", "scatter", "reduce", "reducescatter"}

func (o Op) String() string {
	if o < opCount {
		return opNames[o]
	}
	return fmt.Sprintf("op(%d)", uint16(o))
}

// MarshalText writes the operation's name into JSON.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Engine is the engine that carries a call.
type Engine uint8

// The engines: tagged 16-byte lines, copies, blocks that begin with a tagged
// cache line, copies of which all pass through the staging ring. Append only.
const (
	EngineNone Engine = iota
	EngineLL16
	EngineCE
	EngineLL64
	EngineBCopy
)

func (e Engine) String() string {
	switch e {
	case EngineNone:
		return ""
	case EngineLL16:
		return "ll16"
	case EngineCE:
		return "ce"
	case EngineLL64:
		return "ll64"
	case EngineBCopy:
		return "bcopy"
	}
	return fmt.Sprintf("engine(%d)", uint8(e))
}

// MarshalText writes the engine's name into JSON.
func (e Engine) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Record is one call as its rank published it: after its stores, before its
// first wait. Peers compare the records of one sequence number to tell a late
// rank from one that calls something else.
type Record struct {
	Team     int    `json:"team"`     // team number in the region
	Lane     int    `json:"lane"`     // 0: the team's own calls; others: sessions and streams
	Sequence uint64 `json:"sequence"` // per lane, from 1; 0: no call
	Op       Op     `json:"op"`       //
	Engine   Engine `json:"engine"`   //
	EltSize  int    `json:"elt_size"` // bytes of an element, 0 where there is none
	Count    uint64 `json:"count"`    // elements, where all ranks must agree on them; else 0
	Root     int    `json:"root"`     // team rank of the root, 0 where there is none
	Digest   uint64 `json:"digest"`   // of whatever else must agree
}

func (r Record) String() string {
	if r.Sequence == 0 && r.Op == OpNone {
		return "no call"
	}
	s := r.Op.String()
	if r.Sequence != 0 {
		s += fmt.Sprintf(" #%d", r.Sequence)
	}
	kind, more := "", ""
	details, why := r.details()
	if details.Kind != reflect.Invalid {
		kind = " " + details.Kind.String()
	}
	if details.Reduce != 0 {
		more = " by " + details.Reduce.String()
	}
	if details.Step != 0 {
		more += fmt.Sprintf(", step %d,", details.Step+1)
	}
	if r.EltSize != 0 {
		if r.Count != 0 {
			s += fmt.Sprintf(" of %d×%d B%s", r.Count, r.EltSize, kind)
		} else {
			s += fmt.Sprintf(" of %d B%s elements", r.EltSize, kind)
		}
	}
	s += more
	switch r.Op {
	case OpBroadcast, OpScatter:
		s += fmt.Sprintf(" from rank %d", r.Root)
	case OpGather, OpReduce:
		s += fmt.Sprintf(" to rank %d", r.Root)
	}
	s += fmt.Sprintf(" on team %d", r.Team)
	if r.Lane != 0 {
		s += fmt.Sprintf(" lane %d", r.Lane)
	}
	if r.Engine != EngineNone {
		s += " (" + r.Engine.String() + why + ")"
	}
	return s
}

// Details is what a collective of the front door has in its Digest: what its
// elements are and how they are reduced, and a Border besides, so that errors and
// ps can say it.
type Details struct {
	Kind   reflect.Kind // of an element
	Reduce reduce.Op    // 0: nothing is reduced
	Step   int          // of an operation that takes several calls, from 0
}

// Border is up to how many bytes an operation goes through tagged lines: why it goes
// the way it goes.
type Border struct {
	Bytes  int  // -1: it never does
	ByHand bool // SYMWIN_ALGO says so, and not the measured crossover
}

// Digest is the Details as a number. No other digest of such an operation begins
// as it does, but by chance.
func (d Details) Digest() uint64 {
	return uint64(d.Kind) | uint64(d.Reduce)<<8 | uint64(d.Step)<<16 | detailed
}

// Digest is the Border as a number, to be added to that of Details.
func (b Border) Digest() uint64 {
	digest := uint64(min(max(b.Bytes, -1), math.MaxUint32-2)+2) << 20
	if b.ByHand {
		digest |= byHandBit
	}
	return digest
}

// detailed tells a digest of Details from those of engines and sessions.
const (
	detailed  = 0x6d4 << 52
	byHandBit = 1 << 19
)

func (r Record) details() (d Details, why string) {
	if r.Digest>>52 != detailed>>52 {
		return d, ""
	}
	d = Details{Kind: reflect.Kind(r.Digest & 0xff), Reduce: reduce.Op(r.Digest >> 8), Step: int(r.Digest >> 16 & 7)}
	if bytes := int(r.Digest>>20&math.MaxUint32) - 2; bytes >= -1 {
		why = Border{bytes, r.Digest&byHandBit != 0}.why(r.Engine)
	}
	return d, why
}

// why is the border as the reason of an engine.
func (b Border) why(e Engine) string {
	text := fmt.Sprintf(": above %d B", b.Bytes)
	switch {
	case e == EngineLL64:
		text = fmt.Sprintf(": up to %d B", b.Bytes)
	case b.Bytes < 0:
		text = ": always"
	}
	if b.ByHand {
		text += ", by SYMWIN_ALGO"
	}
	return text
}

// same reports whether two records of one sequence number describe one call.
func (r Record) same(o Record) bool { return r == o }

// recordWords is a record as it stands in shared memory: one cache line. Word 0
// and word 7 are the same version number, stored first and last (package line).
type recordWords [8]uint64

func (r *Record) encode(w *recordWords) {
	w[0] = r.version()
	w[1] = uint64(r.Team)<<48 | uint64(r.Lane)<<24 | uint64(r.Op)<<8 | uint64(r.Engine)
	w[2] = r.Sequence
	w[3] = uint64(uint32(r.EltSize))<<32 | uint64(uint32(r.Root))
	w[4] = r.Count
	w[5] = r.Digest
	w[6] = recordSum(w)
	w[7] = w[0]
}

// brief is a team's call in one word: sequence, operation, engine and team. 0:
// none. 2⁴⁶ calls of 100 ns take 80 days; behind that only what is told of them
// would be wrong.
type brief uint64

func (r *Record) brief() brief {
	return brief(r.Sequence<<18 | uint64(r.Op&0xff)<<10 | uint64(r.Engine&0xf)<<6 | uint64(r.Team&(maxTeams-1)))
}

func (b *brief) load() Record {
	v := atomic.LoadUint64((*uint64)(b))
	return Record{Team: int(v & (maxTeams - 1)), Sequence: v >> 18, Op: Op(v >> 10 & 0xff), Engine: Engine(v >> 6 & 0xf)}
}

// recordSum tells a record from a mixture of two that two lanes wrote over each
// other in one place of the ring.
func recordSum(w *recordWords) uint64 { return w[0] ^ w[1] ^ w[2] ^ w[3] ^ w[4] ^ w[5] }

// version tells the calls of a rank apart: those of one lane by their sequence,
// and lanes by the low byte.
func (r *Record) version() uint64 { return r.Sequence<<8 | uint64(r.Team+r.Lane)&0xff }

// ringPlace is where in its rank's ring a call is kept: the last 64 of a lane,
// unless other lanes of the rank have come over it.
func (r *Record) ringPlace() int {
	return int((r.Sequence + 8*uint64(r.Team+r.Lane)) % ringRecords)
}

// loadRecord reads a record that its owner may be publishing at this moment.
// ok is false if no whole record could be caught, or none was published yet.
func loadRecord(src *recordWords) (r Record, ok bool) {
	for range 100 {
		w, whole := line.LoadRecord((*[8]uint64)(src))
		if whole && w[6] == recordSum((*recordWords)(&w)) {
			return Record{
				Team:     int(w[1] >> 48),
				Lane:     int(w[1] >> 24 & 0xff_ffff),
				Op:       Op(w[1] >> 8 & 0xffff),
				Engine:   Engine(w[1] & 0xff),
				Sequence: w[2],
				EltSize:  int(uint32(w[3] >> 32)),
				Root:     int(int32(uint32(w[3]))),
				Count:    w[4],
				Digest:   w[5],
			}, w[0] != 0
		}
	}
	return Record{}, false
}
