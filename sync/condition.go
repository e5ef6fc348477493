package shmsync

import "sync/atomic"

// Condition is what a wait looks for. Its methods are called by the waiting
// goroutine only.
type Condition interface {
	// Look looks at the words once and reports whether all are as wanted. It
	// may remember what it has found, so the next look starts there.
	Look() bool
	// Missing appends the indices of the words that are not as wanted. It looks
	// at them anew: a peer that left after its last store is not missing.
	Missing(into []int) []int
}

// Flags is the Condition that each of several counters has reached a target.
//
// Each counter is a u64 with one writer that only ever grows; a reader compares
// with ≥ because a writer may be ahead. The writer's store is a release
// (line.StoreRelease64), Look's load an acquire: what the writer stored before
// is visible once Look reports true.
type Flags struct {
	// Words holds the counters; an index in Missing is one into Words. A nil
	// entry counts as reached (the own one, usually).
	Words  []*uint64
	target uint64
	first  int // where Look starts, so that ranks do not all read the same line first
	seen   int // how many, from first on, are known to have reached target
}

// NewFlags returns Flags over words whose looks start at index first.
func NewFlags(words []*uint64, first int) *Flags {
	return &Flags{Words: words, first: first % max(len(words), 1)}
}

// Expect sets the target and forgets what was seen.
func (f *Flags) Expect(target uint64) { f.target, f.seen = target, 0 }

// Look implements Condition. It reads on from the first counter that had not
// reached the target, so a look that fails costs one cache line.
func (f *Flags) Look() bool {
	for n := len(f.Words); f.seen < n; f.seen++ {
		i := f.first + f.seen
		if i >= n {
			i -= n
		}
		if w := f.Words[i]; w != nil && atomic.LoadUint64(w) < f.target {
			return false
		}
	}
	return true
}

// Missing implements Condition.
func (f *Flags) Missing(into []int) []int {
	for i, w := range f.Words {
		if w != nil && atomic.LoadUint64(w) < f.target {
			into = append(into, i)
		}
	}
	return into
}

// Tally is the Condition that a counter which several writers add to has reached
// a goal: everybody has come. Look reads one line however many they are, which is
// what counts where many ranks share few CPUs; in exchange the line is fought
// for, so ranks with a CPU each use Flags.
//
// Each writer stores its own flag first and then adds to the counter (a locked
// instruction: release, and a full barrier). The counter's reader acquires all
// that came before all additions. The flags only tell who is missing.
type Tally struct {
	Flags
	count *uint64
	goal  uint64
}

// NewTally returns a Tally over count, with flags as in NewFlags.
func NewTally(count *uint64, flags []*uint64, first int) *Tally {
	return &Tally{Flags: *NewFlags(flags, first), count: count}
}

// Expect sets the counter's goal and the target of the flags.
func (t *Tally) Expect(goal, target uint64) {
	t.goal = goal
	t.Flags.Expect(target)
}

// Arrive adds one to the counter and reports whether that reached the goal: only
// then is there anybody to wake.
func (t *Tally) Arrive() bool { return atomic.AddUint64(t.count, 1) == t.goal }

// Look implements Condition.
func (t *Tally) Look() bool { return atomic.LoadUint64(t.count) >= t.goal }
