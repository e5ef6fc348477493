package shmsync

import "sync/atomic"

// Condition is what a wait looks for. Its methods are called by the waiting
// goroutine only.
type Condition interface {
	// Look looks at the words once and reports whether all are as wanted. It
	// may remember what it has found, so the next look starts there.
	Look() bool
	// Missing appends the indices of the words that are not as wanted.
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
