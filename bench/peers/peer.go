package peers

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/symwin/symwin/internal/shm"
)

// Names are the peers there are.
var Names = []string{"openmpi", "mpich", "ucx", "shmwin", "unix", "pipe"}

// Job is what all measurements of one opened peer have in common.
type Job struct {
	// Op is what is measured: "latency", "bw", "bibw", "rate", "put", "barrier",
	// "alltoall", "alltoallv", "allgather", "gather", "scatter", "broadcast",
	// "reduce", "allreduce", "reducescatter", "startup".
	Op       string
	Skew     bool          // alltoallv: rank r sends rank p Bytes·(1+(r+p) mod 4)·2/5 bytes, rounded down
	Ranks    int           // at least 1
	CPUs     []int         // that may be used; nil: all
	Plan     [][]int       // the CPUs of each rank; nil: not bound
	MaxBytes int64         // the largest Point.Bytes that will come
	Touch    string        // "" or "none"; "read": the receiver reads every byte inside the clock; "full": and the sender writes every byte before
	Beside   float64       // bytes of memory that others will take while the peer is there
	InPlace  bool          // collectives send from where they receive
	Check    bool          // compare every byte that arrived
	Warmup   int           // operations before the first block of a size
	Timeout  time.Duration // of one Measure, beside what it is expected to take; 0: a minute
}

// Point is what one call of Measure measures.
type Point struct {
	// Bytes is what one rank sends to one peer; allgather, gather, scatter,
	// reducescatter: one rank's part; broadcast, reduce, allreduce: the vector, of
	// which the latter two take whole floats.
	Bytes    int64
	Shortest time.Duration // the shortest block
	Budget   time.Duration // about how long to measure
	// Iters is the operations inside the clock, rounded up to whole blocks; 0: as
	// many as fit into Budget. Of latency and put these are round trips, of bw, bibw
	// and rate 64 messages.
	Iters int
	// Expected is about how long this takes others, 0: not known. Only who takes ten
	// times as long, and Job.Timeout, hangs.
	Expected time.Duration
}

// Slice is what was measured.
type Slice struct {
	Blocks []time.Duration // how long each block took its slowest rank
	// Ops is the operations in a block. Of latency and put these are halves of
	// round trips; of bw and rate the messages of one pair, of bibw those of both
	// directions.
	Ops   int
	Wrong int // bytes that did not arrive as sent, if that was checked and the peer can
	// Dropped is the starts, of startup, that failed and do not count.
	Dropped int
}

// Peer is an opened peer. Its methods may be called by one goroutine at a time.
type Peer interface {
	Name() string    // one of Names
	Version() string // such as "Open MPI 4.1.4"
	Command() string // the command line that was run
	// Measure wakes the peer's processes, measures, and leaves them stopped or
	// ended. Its error wraps ErrCannot for a size that the peer cannot carry, is a
	// *FailedError after which the peer is useless, or ctx's.
	Measure(ctx context.Context, p Point) (Slice, error)
	// Close ends all its processes. It may be called again.
	Close() error
}

// defaultTimeout is Job.Timeout's 0.
const defaultTimeout = time.Minute

// Open starts a peer and leaves it stopped. Its error is a *MissingError, wraps
// ErrCannot, is a *FailedError, or tells what is wrong with the job. Off Linux it
// is errors.ErrUnsupported. Several peers may be open at once.
func Open(ctx context.Context, name string, job Job) (Peer, error) {
	if !slices.Contains(Names, name) {
		return nil, fmt.Errorf("no peer %q; there are %s", name, strings.Join(Names, ", "))
	}
	job, err := job.complete()
	if err != nil {
		return nil, err
	}
	return open(ctx, name, job)
}

func (j Job) complete() (Job, error) {
	if j.Ranks < 1 {
		return j, fmt.Errorf("a peer of %d ranks; it needs at least 1", j.Ranks)
	}
	if j.Plan != nil && len(j.Plan) != j.Ranks {
		return j, fmt.Errorf("a plan for %d ranks where there are %d", len(j.Plan), j.Ranks)
	}
	switch j.Touch {
	case "":
		j.Touch = "none"
	case "none", "read", "full":
	default:
		return j, fmt.Errorf("no touch %q; there are none, read and full", j.Touch)
	}
	if j.Timeout == 0 {
		j.Timeout = defaultTimeout
	}
	return j, nil
}

// slack is how many times as long as expected a peer may take.
const slack = 10

func (j Job) timeout(p Point) time.Duration { return j.Timeout + slack*p.Expected }

// crowded tells whether ranks share CPUs, so that who waits should yield.
func (j Job) crowded() bool {
	usable := len(j.CPUs)
	if usable == 0 {
		usable = runtime.NumCPU()
	}
	if j.Plan != nil {
		all := slices.Sorted(slices.Values(slices.Concat(j.Plan...)))
		usable = len(slices.Compact(all))
	}
	return j.Ranks > usable
}

// pairs are the operations between neighbouring ranks.
func pairs(op string) bool {
	return slices.Contains([]string{"latency", "bw", "bibw", "rate", "put"}, op)
}

// memoryOf says how many times MaxBytes a rank takes for an operation; what is not
// in it does not exist.
func memoryOf(j Job) (times int64, exists bool) {
	n := int64(j.Ranks)
	switch j.Op {
	case "barrier", "startup":
		return 0, true
	case "latency", "put", "broadcast", "reduce", "allreduce":
		return 2, true
	case "bw", "bibw", "rate":
		if j.Touch == "none" {
			return 2, true
		}
		return 2 * 64, true
	case "allgather", "gather", "scatter":
		return n + 1, true
	case "alltoall", "reducescatter":
		return 2 * n, true
	case "alltoallv":
		return 4 * n, true
	}
	return 0, false
}

// Memory is what the buffers of a peer take together, of all its ranks; it may be
// more than there is.
func (j Job) Memory(name string) float64 {
	times, _ := memoryOf(j)
	switch name {
	case "shmwin": // and two halves of a window
		times *= 3
	case "ucx":
		times = 2
	}
	return float64(j.Ranks) * float64(j.MaxBytes) * float64(times)
}

// memoryRoom is [shm.MemoryRoom], or a test's.
var memoryRoom = shm.MemoryRoom

// fits tells why the job has not the ranks or the memory for its operation.
// perRank is how many times MaxBytes each rank takes, shared how many of those
// from /dev/shm.
func (j Job) fits(perRank, shared int64) error {
	if pairs(j.Op) && j.Ranks%2 != 0 {
		return cannot("%s is between pairs of ranks, not %d", j.Op, j.Ranks)
	}
	all := float64(j.Ranks) * float64(j.MaxBytes)
	have, known := memoryRoom()
	if need := all * float64(perRank); known && need+j.Beside > float64(have) {
		return cannot("%s of %d bytes needs %.0f bytes of memory beside %.0f of others, have %d", j.Op, j.MaxBytes, need, j.Beside, have)
	}
	if need, have := all*float64(shared), availableShared(); shared > 0 && have > 0 && need > float64(have) {
		return cannot("%s of %d bytes needs %.0f bytes of /dev/shm, have %d", j.Op, j.MaxBytes, need, have)
	}
	return nil
}
