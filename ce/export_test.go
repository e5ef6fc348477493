package ce

import "github.com/symwin/symwin/symmem"

// PostReady writes, by a rank that is inside no call, a ready line of the next
// operation, which is call: what a damaged or hostile peer could write.
func (s *Stream) PostReady(to int, call symmem.Record, want, length, how uint64) {
	r := ready{want: want, length: length, source: nowhere, how: howOf(how)}
	r.post(s.edges[to].readyOut, tagOf(s.sequence+1, &call))
	s.team.RingAll()
}

func howOf(v uint64) how { return how(v) }

// Share is the bytes of staging for one sender.
func (s *Stream) Share() int { return s.ring.share }

// The hows of a ready line.
const (
	Direct = uint64(direct)
	Staged = uint64(staged)
)
