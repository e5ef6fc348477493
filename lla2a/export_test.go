package lla2a

import (
	"sync/atomic"

	"github.com/symwin/symwin/epoch"
)

// Lap is how many epochs pass before a tag comes round again.
const Lap = epoch.Lap

// BytesOf is the memory of a value.
func BytesOf[T any](v *T) []byte { return bytesOf(v) }

// SenderBytes is how much of a region the elements of one sender take.
func SenderBytes(size, perPeer int) int { return 16 * perPeer * layoutOf(size, perPeer).lines }

// StartAt makes epoch i the present one, as if all before it had been played. All
// members call it, between two barriers.
//
// Lines of the epochs that began the lap are lying about, with wrong data in
// them: the next lap must not take them for its own.
func (s *Session[T]) StartAt(i uint64) {
	s.enter(epoch.Index(i))
	atomic.StoreUint64(s.mine.ended(), i)
	atomic.StoreUint64(s.mine.laps(), i/epoch.Lap)
	for r := range s.peers {
		s.peers[r].heard = i
	}
	var wrong T
	for i := range BytesOf(&wrong) {
		BytesOf(&wrong)[i] = 0xde
	}
	for _, first := range firstOfLap(s.index) {
		for l := 0; l+s.layout.lines <= s.slots; l += s.layout.lines {
			at := epoch.RegionStart(first, s.slots) + l
			carry(element[T](s.mine, at), &wrong)
			*s.layout.tag(s.mine, at) = uint64(first.Tag())
		}
	}
}

// firstOfLap is the first two epochs of the lap that now is in, if they are over.
func firstOfLap(now epoch.Index) (first []epoch.Index) {
	for i := now - now%epoch.Lap; i < now && len(first) < 2; i++ {
		first = append(first, i)
	}
	return first
}

// Epoch is the present one.
func (s *Session[T]) Epoch() uint64 { return uint64(s.index) }

// BlockWords is the memory of the own block, to see that nothing was stored.
func (s *Session[T]) BlockWords() []uint64 {
	words := make([]uint64, len(s.mine))
	for i := range words {
		words[i] = atomic.LoadUint64(&s.mine[i])
	}
	return words
}

// OldTags counts the tags in the own block that are of the lap before, for
// somebody who is in the first half of a lap.
func (s *Session[T]) OldTags() (old int) {
	for l := 1; l+s.layout.lines <= 1+2*s.slots; l += s.layout.lines {
		if atomic.LoadUint64(s.layout.tag(s.mine, l)) >= 1<<31 {
			old++
		}
	}
	return old
}

// Stood is whether the last receive that had to wait stood back.
func (s *Session[T]) Stood() bool { return s.abreast.stood }

// Looks is how often the session has looked at the header of another member.
func (s *Session[T]) Looks() int { return s.looks }

// Debug is whether this build looks for misuse.
const Debug = debug
