package symmem

import (
	"context"
	"fmt"
	"strings"
	"time"

	shmsync "github.com/symwin/symwin/sync"
)

// Watch turns one goroutine's waits on a team into errors that say why: who died,
// who left, who gave up, who is late. Engines that wait outside a collective (a
// receive, a signal) have one each; a Lane has one built in.
type Watch struct {
	team *Team
	call Record

	cond     shmsync.Condition
	lane     *Lane // for a collective: compare calls
	reported bool
	pardoned time.Duration // so much of the wait does not count: ranks were being debugged
	place    int           // own waitRecord, -1: none
	since    time.Duration
	scratch  []int
}

// NewWatch returns a Watch over t for waits outside collectives.
func NewWatch(t *Team) *Watch { return &Watch{team: t, place: -1} }

// Wait waits until c, whose indices are team ranks, holds. what describes the
// wait in errors and for ps. An error is local: the wait may be repeated.
func (x *Watch) Wait(ctx context.Context, what Record, c shmsync.Condition) error {
	if x.team.w.place.Quick(c) {
		return nil
	}
	what.Team = x.team.number
	x.call = what
	return x.wait(ctx, c, nil)
}

// Quick looks at c for a microsecond or three, and reports whether it holds: what
// a caller does before it rings those who sleep on what it has stored, and calls
// Wait.
func (x *Watch) Quick(c shmsync.Condition) bool { return x.team.w.place.Quick(c) }

// Sees looks at a word, whether it comes to hold v, for as long as a line travels:
// what comes before Quick where one word is waited for.
func (x *Watch) Sees(word *uint64, v uint64) bool { return x.team.w.place.Sees(word, v) }

// StandBack lets a few messages of a stream come, for so many pauses: looking at lines
// that are being written takes them from their writer.
func (x *Watch) StandBack(pauses int) { x.team.w.place.StandBack(pauses) }

// wait is behind the first look.
func (x *Watch) wait(ctx context.Context, c shmsync.Condition, lane *Lane) error {
	x.cond, x.lane, x.reported, x.pardoned, x.place = c, lane, false, 0, -1
	defer x.untell() // also if the look of c panics
	err := x.team.w.place.Wait(ctx, c, x)
	if err != nil {
		if gone := x.team.w.gone(); gone != nil {
			return gone // what else it looked like, it looked like because of that
		}
	}
	if err != nil && err == ctx.Err() {
		err = x.late(0, err)
	}
	return err
}

// Over implements shmsync.Overseer.
func (x *Watch) Over() bool { return x.team.ended() }

// Ended implements shmsync.Overseer: a few loads that stay in the cache. It comes
// before each park, so here a call that was told in short is told in full.
func (x *Watch) Ended() error {
	if x.lane != nil {
		x.lane.tell()
	}
	if !x.team.ended() {
		return nil
	}
	return x.team.inspect()
}

// Inspect implements shmsync.Overseer. It runs when a park has run out.
func (x *Watch) Inspect(waited time.Duration) error {
	if err := x.team.inspect(); err != nil {
		return err
	}
	before := len(x.scratch)
	x.scratch = x.cond.Missing(x.scratch[:0])
	if err := x.left(); err != nil {
		// If it gave the call up before it left, that is the reason.
		if why := x.team.inspect(); why != nil {
			return why
		}
		// Or it called something else, had all it waited for, and left content.
		if x.lane != nil {
			if why := x.lane.mismatch(true); why != nil {
				return why
			}
		}
		return err
	}
	// Whoever comes later than that compares its call with this one himself, and
	// a long sleeper shall not read every rank's records ten times a second.
	if x.lane != nil && waited < mismatchLast+mismatchPatience {
		if err := x.lane.verdict(waited); err != nil {
			return err
		}
	}
	if x.place < 0 || len(x.scratch) != before {
		x.tell()
	}
	return x.stalled(waited)
}

// stalled is about the two deadlines of a wait: one line for people, and the end.
// Where any rank of the world is in a debugger's hands, others wait for it through
// each other, and both begin anew.
func (x *Watch) stalled(waited time.Duration) error {
	o, counts := &x.team.w.opts, waited-x.pardoned
	report := o.StallReport > 0 && counts >= o.StallReport && !x.reported
	end := o.Stall > 0 && counts >= o.Stall
	if !report && !end {
		return nil
	}
	if x.team.w.debugged() {
		x.pardoned = waited
		return nil
	}
	if report {
		x.reported = true
		o.Report(x.lateText(waited))
	}
	if end {
		return x.late(waited, nil)
	}
	return nil
}

// mismatchPatience is how long a verdict on different calls waits for the calls of
// ranks that have made none yet; mismatchLast, where it could not say who is odd.
const (
	mismatchPatience = 100 * time.Millisecond
	mismatchLast     = time.Second
)

// tell publishes whom this wait waits for by now.
func (x *Watch) tell() {
	w := x.team.w
	if x.place < 0 {
		if x.place = w.waits.claim(); x.place < 0 {
			return
		}
		x.since = monotonic()
	}
	w.mine.waits[x.place].publish(&x.call, x.since, x.team.worldRanks(x.scratch))
}

// untell takes that back.
func (x *Watch) untell() {
	if x.place >= 0 {
		x.team.w.mine.waits[x.place].clear()
		x.team.w.waits.free(x.place)
		x.place = -1
	}
}

// left is about members that are gone and will never come: first they are seen
// to have left, and then still to be missing. The other way round, one that came
// and left in between would be taken for one that left without coming.
func (x *Watch) left() error {
	gone := false
	for _, m := range x.scratch {
		gone = gone || x.team.block(m).lifeNow() == Left
	}
	if !gone {
		return nil
	}
	e := &LeftError{Call: x.call}
	lives := make([]Life, len(x.team.members))
	for m := range lives {
		lives[m] = x.team.block(m).lifeNow()
	}
	for _, m := range x.cond.Missing(nil) {
		if lives[m] == Left {
			e.Ranks = append(e.Ranks, x.team.members[m])
		}
	}
	if len(e.Ranks) == 0 {
		return nil
	}
	return e
}

// late is the TimeoutError of this wait.
func (x *Watch) late(waited time.Duration, cause error) error {
	missing := x.cond.Missing(nil)
	e := &TimeoutError{Call: x.call, Missing: x.team.worldRanks(missing), Waited: waited, Err: cause}
	for _, m := range missing {
		e.Doing = append(e.Doing, x.team.lastCall(m))
	}
	return e
}

// lateText is the one line of a stall report.
func (x *Watch) lateText(waited time.Duration) string {
	missing := x.cond.Missing(nil)
	var b strings.Builder
	fmt.Fprintf(&b, "symwin: rank %d has waited %v in %v for %s", x.team.w.rank, waited.Round(time.Second),
		x.call, ranksText(x.team.worldRanks(missing)))
	for i, m := range missing {
		if i == 8 {
			b.WriteString("; …")
			break
		}
		fmt.Fprintf(&b, "; rank %d: %v", x.team.members[m], x.team.lastCall(m))
		pid := int(x.team.block(m).who.pid)
		if state := processState(pid); state != "" {
			fmt.Fprintf(&b, " (process %d is %s)", pid, state)
		}
	}
	return b.String()
}
