package symmem

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
	shmsync "github.com/symwin/symwin/sync"
)

// Team is an ordered set of ranks that do collectives together. Its number owns
// a fixed place in every member's control block, so a team needs no memory of a
// window.
//
// One operation at a time per team; operations of different teams may run from
// different goroutines. Rank, Size and WorldRank may be called at any time.
type Team struct {
	w       *World
	number  int
	members []int // world ranks, by team rank
	inverse uint64
	rank    int // the own team rank

	mine   *place
	places []*place
	bells  []*shmsync.Doorbell // of the others

	barriers  uint64 // so far
	exchanges uint64
	arrived   *shmsync.Flags // the others' barriers, where every rank has a CPU
	tally     *shmsync.Tally // everybody's, where ranks share CPUs
	tallied   uint64         // what the tally's counter shows after the last barrier
	posted    *shmsync.Flags // the others' exchanges
	lane      *Lane
	lost      *atomic.Uint32 // the region's
	abort     *atomic.Uint32 // the world's
	revoked   *atomic.Uint32
	intact    uint32 // what revoked holds while nobody has given up
	closed    atomic.Bool
	attached  atomic.Value
	started   atomic.Int32 // Started
}

func newTeam(w *World, number int, members []int) *Team {
	t := &Team{w: w, number: number, members: members, inverse: inverseOf(len(members)), rank: slices.Index(members, w.rank)}
	arrived, posted := make([]*uint64, len(members)), make([]*uint64, len(members))
	records := make([]*recordWords, len(members))
	for i, m := range members {
		b := w.r.blocks[m]
		t.places = append(t.places, &b.teams[number])
		records[i] = &b.teams[number].call
		if i != t.rank {
			arrived[i], posted[i] = &b.teams[number].arrived, &b.teams[number].posted
			t.bells = append(t.bells, &b.bell)
		}
	}
	t.mine = t.places[t.rank]
	t.lost, t.abort, t.revoked = &w.r.lost, &w.r.head.abort, &t.places[0].revoked
	t.arrived = shmsync.NewFlags(arrived, t.rank+1)
	t.tally = shmsync.NewTally(&t.places[0].count, arrived, t.rank+1)
	t.posted = shmsync.NewFlags(posted, t.rank+1)
	t.lane = &Lane{mine: &t.mine.call, peers: records}
	t.lane.team, t.lane.Watch.place = t, -1
	w.know(&t.lane.gate)
	return t
}

// Rank is the own rank in the team, 0 to Size-1.
func (t *Team) Rank() int { return t.rank }

// Size is the number of members.
func (t *Team) Size() int { return len(t.members) }

// inverseOf is what Even multiplies by in a team of n.
func inverseOf(n int) uint64 { return math.MaxUint64 / uint64(n) }

// Even divides total by Size, and reports whether nothing is left. A multiplication
// does it: dividing 64 bits takes 15 ns, and collectives ask in every call.
func (t *Team) Even(total int) (each int, even bool) {
	if uint64(total) < 1<<32 {
		// ⌊(total+1)·⌊(2⁶⁴−1)/n⌋ / 2⁶⁴⌋ is the quotient for all numbers of 32 bits.
		hi, _ := bits.Mul64(uint64(total)+1, t.inverse)
		each = int(hi)
	} else {
		each = total / len(t.members)
	}
	return each, each*len(t.members) == total
}

// WorldRank is the world rank of the team's rank r.
func (t *Team) WorldRank(r int) int { return t.members[r] }

// World is the world the team belongs to.
func (t *Team) World() *World { return t.w }

// SharesCPUs tells whether ranks of the world share CPUs: whoever waits there
// gives his away. It is the same on all ranks.
func (t *Team) SharesCPUs() bool { return t.w.shared }

// Number is the team's number in the region, as records and ps show it; the
// world's is 0.
func (t *Team) Number() int { return t.number }

// Lane is the team's own sequence of calls, for the engines.
func (t *Team) Lane() *Lane { return t.lane }

// Attached holds what the front door keeps for the team: its engines. If it has
// a method Close(context.Context) error, collective over the team, Close calls it.
func (t *Team) Attached() *atomic.Value { return &t.attached }

// Ring wakes member r if it sleeps, after a full barrier: what a lone sender
// does at the end of its operation.
func (t *Team) Ring(r int) {
	t.w.fence.Add(1)
	t.block(r).bell.Ring()
}

// RingAll wakes whichever members sleep, after a full barrier.
func (t *Team) RingAll() {
	t.w.fence.Add(1)
	t.ringMembers()
}

// Bell is member r's doorbell, for engines that ring at the end of every send.
func (t *Team) Bell(r int) *shmsync.Doorbell { return &t.block(r).bell }

// Nudge is Ring without the barrier, which would wait until the caller's last
// stores have left the processor. It may miss a member that is just parking:
// another look follows behind a barrier, soon.
func (t *Team) Nudge(r int) { t.block(r).bell.Ring() }

// NudgeAll is RingAll without the barrier, for a caller that has just passed one.
func (t *Team) NudgeAll() { t.ringMembers() }

func (t *Team) ringMembers() {
	for _, b := range t.bells {
		b.Ring()
	}
}

func (t *Team) block(r int) *block { return t.w.r.blocks[t.members[r]] }

func (t *Team) worldRanks(ranks []int) []int {
	out := make([]int, len(ranks))
	for i, r := range ranks {
		out[i] = t.members[r]
	}
	return out
}

// Started counts, by 1 and -1, the work of an engine that goes on behind the call that
// started it: the team is not closed meanwhile. It may be called concurrently.
func (t *Team) Started(n int) { t.started.Add(int32(n)) }

// LastCall is what member r called last on this team, or else anywhere, as errors
// about a late rank tell it.
func (t *Team) LastCall(r int) Record { return t.lastCall(r) }

// lastCall is what member r did last on this team, or else anywhere.
func (t *Team) lastCall(r int) Record {
	rec, ok := loadRecord(&t.places[r].call)
	for i := range ringRecords {
		if late := t.block(r).briefs[i].load(); late.Team == t.number && late.Sequence > rec.Sequence {
			rec, ok = late, true
		}
	}
	if ok && rec.Sequence != 0 {
		return rec
	}
	return t.block(r).lastCall()
}

var barrierCall = Record{Op: OpBarrier}

// Barrier returns when every member has called it. What a member stored before
// its Barrier, into any window, is visible to all after theirs.
//
// It is flat. Where every rank has a CPU, each member counts up one word of its
// own control block and reads the others': with two ranks one cache line each
// way, as little as there can be. Where ranks share CPUs they count together, on
// one line that mostly stays where it is: reading a line of each of 32 ranks
// costs more than handing the CPU around.
func (t *Team) Barrier(ctx context.Context) error {
	if err := t.lane.Begin(ctx); err != nil {
		return err
	}
	t.barriers++
	line.StoreRelease64(&t.mine.arrived, t.barriers)
	t.lane.Name(&barrierCall)
	if t.w.shared {
		return t.lane.Leave(t.count(ctx))
	}
	t.arrived.Expect(t.barriers)
	t.lane.PublishLate()
	return t.lane.Leave(t.lane.Await(ctx, t.arrived))
}

// count is the barrier of ranks that share CPUs. Only the last to arrive has
// made anybody's wait come true, so only it looks at doorbells.
func (t *Team) count(ctx context.Context) error {
	t.lane.PublishLate()
	t.tallied += uint64(len(t.members))
	t.tally.Expect(t.tallied, t.barriers)
	t.lane.silent = !t.tally.Arrive()
	return t.lane.Await(ctx, t.tally)
}

// ended is the look on entry of every operation: five loads that stay in the
// cache. usable says what it was.
func (t *Team) ended() bool {
	// Closed first: behind it the region, in which the others lie, may be gone.
	return t.w.closed.Load() || t.lost.Load()|t.abort.Load()|(t.revoked.Load()^t.intact) != 0 || t.closed.Load()
}

// Ended reports whether operations of the team may not start any more, and
// Usable why: the look on entry of operations that pass no lane.
func (t *Team) Ended() bool { return t.ended() }

// usable reports why no operation may start on the team.
func (t *Team) usable() error {
	if err := t.w.usable(); err != nil {
		return t.since(err)
	}
	if t.closed.Load() {
		return fmt.Errorf("team %d is %w", t.number, ErrClosed)
	}
	if t.revoked.Load() != t.intact {
		return t.revocation()
	}
	return nil
}

// Usable reports why no operation may start on the team, or nil.
func (t *Team) Usable() error {
	if !t.ended() {
		return nil
	}
	return t.usable()
}

// inspect is the team's part of looking behind the spin.
func (t *Team) inspect() error {
	if err := t.w.inspect(); err != nil {
		return t.since(err)
	}
	if t.revoked.Load() != t.intact {
		err := t.revocation()
		t.ringAllMembers() // the author may have died before it rang everybody
		return err
	}
	return nil
}

// since is the world's end as the team tells it. One that was given up before tells
// that first: whoever gave it up may just have ended of that, without Close, and
// would be all that the others hear of.
func (t *Team) since(end error) error {
	if errors.Is(end, ErrClosed) || errors.Is(end, ErrRegion) || t.revoked.Load() == t.intact {
		return end
	}
	return fmt.Errorf("%w; since then %w", t.revocation(), end)
}

// Revoke ends the team for all members because this one gives up a collective
// between two of its calls: err says why. Agreed errors (ErrNoSpace, ErrTooShort)
// are no reason to. It returns err.
func (t *Team) Revoke(err error) error {
	if err != nil && !t.w.closed.Load() {
		t.revoke(err)
	}
	return err
}

// revoke ends the team because this member gave up a collective: err says why.
// A world that is aborted needs none of it; one that this rank closes meanwhile does,
// and is still mapped if the caller is inside a gate: a peer that reads this rank's
// memory must not take what the program writes there next for what it sent. Lanes of
// one team may give up at once.
func (t *Team) revoke(err error) {
	if t.w.r.head.abort.Load() != 0 {
		return
	}
	t.w.abortMu.Lock()
	defer t.w.abortMu.Unlock()
	if t.revoked.Load() == t.intact {
		t.mine.kind = uint32(kindOf(err))
		t.mine.length = uint32(copy(t.mine.text[:], err.Error()))
		t.revoked.CompareAndSwap(t.intact, t.intact|uint32(t.w.rank+1))
		failpoint.Hit(failpoint.RevokeClaimed)
	}
	t.ringAllMembers()
}

// ringAllMembers rings without looking at parked, as aborts do.
func (t *Team) ringAllMembers() {
	for _, b := range t.bells {
		b.RingAlways()
	}
}

// revocation is the team's abort as an error.
func (t *Team) revocation() error {
	author := int(t.revoked.Load()&revokedMask) - 1
	at := slices.Index(t.members, author)
	if at < 0 {
		return regionError("team %d's abort word names rank %d, which is no member", t.number, author)
	}
	p := t.places[at]
	return &AbortedError{Rank: author, Team: t.number, kind: AbortKind(p.kind),
		Reason: string(p.text[:min(p.length, maxTeamText)])}
}
