package symmem

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
	shmsync "github.com/symwin/symwin/sync"
)

// Lane is one ordered sequence of collective calls over a team: the team's own,
// or those of one session or stream that was opened on it. It publishes what is
// called, waits, and turns a wait that fails into an error that says why.
//
// A call has one shape, whatever the engine:
//
//	if err := lane.Enter(ctx, &Record{Op: …}); err != nil { return err } // nothing stored yet
//	… stores …
//	lane.Publish()
//	err := lane.Await(ctx, cond)                                        // any number of times
//	return lane.Leave(err)                                              // an error revokes the team
//
// One goroutine at a time: Enter refuses a second one.
type Lane struct {
	Watch
	gate   gate
	number int            // 0: the team's own
	last   uint64         // sequence of the last published call
	mine   *recordWords   // where the own call is published
	peers  []*recordWords // where the members publish theirs, by team rank
	words  recordWords    // the call as it is published
	late   bool           // the call was published in short so far
	silent bool           // the call's stores fulfil nobody's wait
	looked bool           // who sleeps was looked at behind the call's last store
	owed   bool           // a look at the doorbells behind the next full barrier
	open   bool           // the call was published: giving up now concerns the others
}

// OpenLane makes a lane of its own over t, for a stream or session whose calls
// come in an order of their own: beside the team's, from another goroutine. All
// members open it right behind the same call of the team's lane, whose sequence
// number is what it goes by. mine is a line of zeroes in the own window where
// the latest call stands, peers are the members' (the own one included), by team
// rank. Whoever opens a lane closes it, or World.Close looks at it for ever.
func (t *Team) OpenLane(mine *[8]uint64, peers []*[8]uint64) *Lane {
	l := &Lane{mine: (*recordWords)(mine)}
	for _, p := range peers {
		l.peers = append(l.peers, (*recordWords)(p))
	}
	l.team, l.Watch.place = t, -1
	l.number = 1 + int(t.lane.last%maxLane)
	t.w.know(&l.gate)
	return l
}

// maxLane is how many lanes a record can tell apart.
const maxLane = 1<<24 - 1

// Close says that the lane makes no calls any more.
func (l *Lane) Close() { l.team.w.forget(&l.gate) }

// Enter begins the call c, whose Team, Lane and Sequence the lane fills in. It
// fails without having stored anything if the context is done, the world or team
// is closed or aborted, or another goroutine is inside.
func (l *Lane) Enter(ctx context.Context, c *Record) error {
	if err := l.Begin(ctx); err != nil {
		return err
	}
	l.Name(c)
	return nil
}

// Begin is Enter's look alone, and Name its call: for operations so short that
// they name it only behind their stores, because whatever comes before those
// delays all members by as much. Name comes before Publish, Await and any error of
// which others are to hear.
func (l *Lane) Begin(ctx context.Context) error {
	if !l.gate.enter() {
		if l.number != 0 {
			return errBusy("stream")
		}
		return errBusy("team")
	}
	var err error
	if l.team.ended() {
		err = l.team.usable()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		l.gate.leave()
		return err
	}
	if l.owed {
		l.owed = false
		l.team.NudgeAll()
	}
	return nil
}

// Name is the other half of Enter. A call that was published is named already.
func (l *Lane) Name(c *Record) {
	if l.open {
		return
	}
	l.call = *c
	l.call.Team, l.call.Lane, l.call.Sequence = l.team.number, l.number, l.last+1
}

// Sent says that the call has made all its stores but those of Publish. Where every
// rank has a CPU, who sleeps is looked at now, while the lines travel, and not when
// the call ends and the next one's stores are waited for.
func (l *Lane) Sent() {
	if !l.team.w.shared {
		l.nudge()
		l.looked = true
	}
}

// Rung is Sent for a call that has itself looked at who sleeps, behind its last store but
// those of Publish.
func (l *Lane) Rung() { l.looked, l.owed = true, true }

// Quiet says that what this call has stored makes no wait come true, so that it
// need look at nobody's doorbell; Loud takes that back.
func (l *Lane) Quiet() { l.silent = true }

// Loud is the opposite of Quiet.
func (l *Lane) Loud() { l.silent = false }

// PublishLate is Publish for a call that ends well only if all members have made
// the same one: nobody will have to compare it with another then. So the peers
// are told in short, one word instead of two lines, and in full before a wait of
// the call parks (behind which calls are compared) or fails (two ranks, AllToAll of 8 bytes: 320 ns with
// Publish, 280 with this, one line each way 125).
func (l *Lane) PublishLate() {
	if l.number != 0 {
		l.Publish()
		return
	}
	l.last, l.open, l.late = l.call.Sequence, true, true
	b, at := l.team.w.mine, l.call.ringPlace()
	failpoint.Hit(failpoint.LaneStored)
	line.StoreRelease64((*uint64)(&b.briefs[at]), uint64(l.call.brief()))
	line.StoreRelease32(&b.who.latest, uint32(ringRecords+at))
	failpoint.Hit(failpoint.LaneRecord)
}

// tell publishes in full what has been published in short.
func (l *Lane) tell() {
	if l.late {
		l.late = false
		l.Publish()
	}
}

// Publish tells the peers which call this is. It comes after the call's stores,
// so that its ten nanoseconds pass while the lines travel.
func (l *Lane) Publish() {
	b := l.team.w.mine
	l.last, l.open = l.call.Sequence, true
	// No locked instruction here: it would wait until the call's stores have
	// left the processor, and the look for the peers' with it. So the place in
	// the ring follows from the sequence alone, and lanes share it as it falls.
	at := l.call.ringPlace()
	failpoint.Hit(failpoint.LaneStored)
	l.call.encode(&l.words)
	line.PublishRecord((*[8]uint64)(l.mine), (*[8]uint64)(&l.words))
	line.PublishRecord((*[8]uint64)(&b.ring[at]), (*[8]uint64)(&l.words))
	line.StoreRelease32(&b.who.latest, uint32(at))
	failpoint.Hit(failpoint.LaneRecord)
}

// Await waits until c, whose indices are team ranks, holds. Behind the first
// look it rings whoever sleeps.
func (l *Lane) Await(ctx context.Context, c shmsync.Condition) error {
	if l.team.w.place.Quick(c) {
		return nil
	}
	if !l.silent {
		l.team.RingAll()
	}
	l.looked = false // what is stored from now on comes long behind that look
	return l.Watch.wait(ctx, c, l)
}

// Leave ends the call: it rings the doorbells of the members, and if err is not
// nil and the call was published, it revokes the team, since the others wait for
// stores that will not come. It returns err.
func (l *Lane) Leave(err error) error {
	w := l.team.w
	if w.r.lost.Load() != 0 {
		err = w.gone() // and zeroes are what may have been received
	}
	if err != nil || !l.looked {
		l.leave(err)
	}
	l.open, l.silent, l.late, l.looked = false, false, false, false
	l.gate.leave()
	return err
}

// leave is Leave where who sleeps was not looked at, or something went wrong.
func (l *Lane) leave(err error) {
	if err != nil && l.open {
		l.tell()
		l.team.revoke(err)
	}
	if l.silent {
		return
	}
	if l.team.w.shared {
		l.team.RingAll()
	} else {
		l.nudge()
	}
}

// nudge is the ring where every rank has a CPU: members hardly ever sleep, and a
// full barrier costs more than the look. It is the next call's, at its gate, behind
// which doorbells are looked at once more. Only one who was just parking, and whom
// no next call comes to find, sleeps its first millisecond out.
func (l *Lane) nudge() {
	l.team.NudgeAll()
	l.owed = true
}

// recordOf is the call that member r made under sequence, if it is known: its
// latest, or one of its last 64 if it has gone on since.
func (l *Lane) recordOf(r int, sequence uint64) (Record, bool) {
	rec, ok := loadRecord(l.peers[r])
	if ok && rec.Sequence == sequence {
		return rec, true
	}
	if ok && rec.Sequence > sequence {
		return l.team.block(r).fromRing(l.team.number, l.number, sequence)
	}
	return Record{}, false
}

// Mismatch is the error of a call whose data turned out to be of another call:
// it shows what the members called, as far as their records are in by now.
func (l *Lane) Mismatch() error {
	l.tell()
	// The data came before the record, by a few nanoseconds, unless the peer was just
	// taken off its CPU.
	for looks, start := 0, monotonic(); monotonic()-start < mismatchPatience; looks++ {
		if err := l.mismatch(true); err != nil {
			return err
		}
		if runtime.Gosched(); looks > 1000 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	if err := l.earlier(); err != nil {
		return err
	}
	return &MismatchError{Ranks: []int{l.team.w.rank}, Calls: []Record{l.call}}
}

// earlier looks for a difference in the calls before this one, the first that is
// still known: a member that received nothing in a call may learn of it now.
func (l *Lane) earlier() error {
	now := l.call.Sequence
	for sequence := max(now, ringRecords) - ringRecords + 1; sequence < now; sequence++ {
		e, differ := &MismatchError{}, false
		for r, m := range l.team.members {
			if rec, ok := l.team.block(r).fromRing(l.team.number, l.number, sequence); ok {
				e.Ranks, e.Calls = append(e.Ranks, m), append(e.Calls, rec)
				differ = differ || !rec.same(e.Calls[0])
			}
		}
		if differ {
			e.Odd = odd(e.Ranks, e.Calls)
			return e
		}
	}
	return nil
}

// verdict is mismatch behind a wait that has lasted so long: one that names the odd
// ones is not put off for ranks that are late, and one that cannot yet, for longer.
func (l *Lane) verdict(waited time.Duration) error {
	err := l.mismatch(waited >= mismatchPatience)
	var e *MismatchError
	if errors.As(err, &e) && len(e.Odd) == 0 && len(e.Ranks) < len(l.team.members) && waited < mismatchLast {
		return nil
	}
	return err
}

// mismatch compares the calls of all members under the current sequence number.
// A verdict falls when all of them are in; force does not wait for the last.
func (l *Lane) mismatch(force bool) error {
	known, differ := 0, false
	for r := range l.team.members {
		if rec, ok := l.callOf(r); ok {
			known++
			differ = differ || !rec.same(l.call)
		}
	}
	if !differ || (known < len(l.team.members) && !force) {
		return nil
	}
	e := &MismatchError{}
	for r, m := range l.team.members {
		if rec, ok := l.callOf(r); ok {
			e.Ranks, e.Calls = append(e.Ranks, m), append(e.Calls, rec)
		}
	}
	e.Odd = odd(e.Ranks, e.Calls)
	return e
}

// callOf is the call of member r under the current sequence number, the own one
// included.
func (l *Lane) callOf(r int) (Record, bool) {
	if r == l.team.rank {
		return l.call, true
	}
	return l.recordOf(r, l.call.Sequence)
}

// odd names the minority, where more than half made one call.
func odd(ranks []int, calls []Record) []int {
	for _, c := range calls {
		var others []int
		for i, d := range calls {
			if !d.same(c) {
				others = append(others, ranks[i])
			}
		}
		if 2*len(others) < len(calls) {
			return others
		}
	}
	return nil
}
