package symmem

import "sync/atomic"

// The region, from its start:
//
//	page 0          immutable: geometry, CRC (geometry.go)
//	page 1          commons: what changes and belongs to nobody
//	then            one control block per rank
//	then            one window per rank, stride bytes each, at a multiple of 2 MiB
//	                (for BackingMemfd the windows are a file of their own)
//
// Everything starts as zeroes, and zero means "nothing yet" everywhere. Words
// that one rank stores and others poll stand on cache lines of their own.
const (
	pageBytes   = 4096
	lineBytes   = 64
	hugeBytes   = 2 << 20
	maxRanks    = 1024
	maxTeams    = 64 // team numbers; number 0 is the world
	ringRecords = 64
	waitPlaces  = 4
	maxText     = 240
	postWords   = 8
)

// rankSet is a set of world ranks, one bit each.
type rankSet [maxRanks / 64]uint64

func (s *rankSet) add(r int)      { s[r>>6] |= 1 << (r & 63) }
func (s *rankSet) has(r int) bool { return s[r>>6]>>(r&63)&1 != 0 }

// list returns the members below n, ascending.
func (s *rankSet) list(n int) []int {
	var out []int
	for r := range n {
		if s.has(r) {
			out = append(out, r)
		}
	}
	return out
}

// commons is the page of words without an owner.
type commons struct {
	// abort: 0, or author+1 (launcherAuthor for the launcher). Changed once, by
	// a compare-and-swap from 0 (first cause wins) that comes after the author's
	// notice is written; everybody reads it, behind the spin, with an acquire.
	abort atomic.Uint32
	_     [lineBytes - 4]byte
	// joined counts ranks that have come. It only wakes those who wait in Join;
	// the truth is in the liveness words. Any rank adds, once.
	joined atomic.Uint32
	_      [lineBytes - 4]byte
	// launcher is the launcher's notice, valid once abort names it.
	launcher notice
}

const launcherAuthor = maxRanks + 1 // the abort word of the launcher

// notice is an author's account of why it aborts. Plain memory: written before
// the compare-and-swap on the abort word, read after a load that saw it.
type notice struct {
	kind   uint32
	length uint32
	ranks  rankSet // the ranks that failed, for AbortRankFailed
	text   [maxText]byte
	_      [8]byte
}

// block is the control block of one rank. Its rank is the only writer but for
// the lines that say otherwise.
type block struct {
	// life is the robust futex: 0 not come; tid|Waiters alive; OwnerDied set by
	// the kernel: dead; Waiters alone: left. Writers: the rank's guard, and the
	// kernel when the guard's thread ends. Sleepers: the predecessor's guard
	// alone, since the kernel wakes one.
	life atomic.Uint32
	_    [lineBytes - 4]byte

	bell doorbellLine // written by waiters of the rank and by whoever wakes them

	who identity

	notice notice // world aborts of this rank

	waits [waitPlaces]waitRecord

	// ring holds the rank's last calls (Record.ringPlace).
	ring [ringRecords]recordWords

	// briefs holds the team calls among them that were published in short
	// (Lane.PublishLate), each in the place it would have in the ring.
	briefs [ringRecords]brief

	_ [lineBytes]byte // pairs of lines: see place

	teams [maxTeams]place
}

// identity is what a rank tells of itself once it has claimed its liveness word,
// so nobody else writes here; told, stored last, says that it is complete. Join
// waits for it, so whoever has joined may read all of them.
type identity struct {
	pid     uint32
	watched uint32     // 1: robust lists are refused here, watch the process by pidfd
	started uint64     // start time of the process in clock ticks since boot: tells a reused pid
	cpus    [16]uint64 // the CPUs it may use, one bit each
	latest  uint32     // entry of the ring that was written last; from ringRecords on: of the briefs
	told    atomic.Uint32
	space   uint64 // the PID namespace in which pid is its number; 0: unknown
	// hears is 1 once the rank's program has been told that the world was aborted. It
	// is stored before the program knows, so one that ends of it is seen to have heard:
	// who sees the kernel's mark in life, by an acquire, sees this.
	hears atomic.Uint32
	_     [lineBytes*3 - 36 - 128]byte
}

// waitRecord says whom the rank waits for, for ps. It is written when a wait
// leaves the spin. version is odd while it changes (one writer: the goroutine
// that claimed the place), 0 or the even value before `since`==0 when unused.
type waitRecord struct {
	version atomic.Uint64
	since   atomic.Uint64 // CLOCK_MONOTONIC, ns; 0: no wait
	call    [8]atomic.Uint64
	missing [maxRanks / 64]atomic.Uint64
	_       [lineBytes*4 - 16 - 64 - 128]byte
}

// place is what one team number owns in a member's control block.
type place struct {
	// arrived counts the member's barriers, posted its exchanges: two words, so
	// that a barrier on one rank and an exchange on another do not satisfy each
	// other. Writer: the member, by a release store after all it has to say.
	// Readers: all members, ≥, acquire.
	arrived uint64
	posted  uint64
	_       [2*lineBytes - 16]byte // a pair of lines: see below
	// revoked is used in the block of the team's rank 0 only: the generation of
	// the number, and below it 0, or world rank + 1 of the member that gave up.
	// Changed once by compare-and-swap after
	// the author's account (kind, length, text) is written in its own place. It
	// is not the neighbour of the polled line: processors fetch lines in pairs,
	// and every barrier would take this one, which all read on entry, from the
	// others too (medians of 8 runs: 157 ns, not 176).
	revoked atomic.Uint32
	kind    uint32
	length  uint32
	text    [maxTeamText]byte
	// call is the record of the team's latest collective (lane 0). Writer: the
	// member; readers: members behind their spin, Observe.
	call recordWords
	_    [lineBytes]byte
	// count is used in the block of the team's rank 0 only: barriers of members
	// that share CPUs, counted together. Every member adds one to it, by a
	// locked instruction; all read it, ≥, acquire.
	count uint64
	_     [2*lineBytes - 8]byte
	// post is the member's part of an exchange, in two halves by the parity of
	// its number. Half k is written again only for number k+2, which the member
	// reaches only after all have arrived at k+1, that is, have read k.
	post [2][postWords]uint64
}

// The word of revocations: an author below, a generation above.
const (
	revokedBits = 11
	revokedMask = 1<<revokedBits - 1
)

func generationOf(revoked uint32) int { return int(revoked >> revokedBits) }

const maxTeamText = 4*lineBytes - 12
