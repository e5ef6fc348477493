package bench

import (
	"fmt"
	"math"
	"time"
)

// What a measurement takes besides its budgets, read off one machine: an estimate
// is for people who wonder whether to wait.
const (
	rankStart = 8 * time.Millisecond   // starting a rank of ours or of a peer, and its end
	jobStart  = 40 * time.Millisecond  // what comes on top for a job of ours
	peerStart = 400 * time.Millisecond // and for a peer's
	rowStart  = 60 * time.Millisecond  // opening, checking, calibrating; as much for each peer
	oneStart  = 3 * time.Millisecond   // what startup starts, a rank of it
)

// lasts is about how long it takes to measure all of j where iterations are auto.
func (j *job) lasts() (all time.Duration) {
	ranks := time.Duration(j.Ranks) * rankStart
	if j.op.own == nil {
		all += jobStart + ranks
	}
	all += time.Duration(len(j.peers)) * (peerStart + ranks)
	for _, t := range j.trials() {
		all += j.lastsRow(t)
	}
	return all
}

// lastsRow is about how long one row takes.
func (j *job) lastsRow(t trial) time.Duration {
	reps := time.Duration(j.reps)
	peers := time.Duration(len(j.peers))
	switch {
	case j.op.own != nil:
		start := time.Duration(j.Ranks) * oneStart
		return reps * fewestStarts * (2*start + peers*(2*start+peerStart/2))
	case t.quick:
		return 3*probeBudget + rowStart/4
	}
	terms := time.Duration(0)
	switch {
	case j.op.moved == nil:
	case t.task.Bytes > exchangeBytes && j.shared():
		terms = 2
	case t.task.Bytes > exchangeBytes || j.shared():
		terms = 1
	}
	all := rowBudget*(1+peers) + terms*rowBudget/limitShare + (reps+1)*probeBudget + rowStart*(1+terms+peers)
	if j.tails {
		all += tailsBudget
	}
	return all
}

// span is how long something takes as people say it: "8 s", "3 min 20 s".
func span(t time.Duration) string {
	s := int(math.Ceil(t.Seconds()))
	switch {
	case s < 20:
	case s < 120:
		s = (s + 4) / 5 * 5
	default:
		s = (s + 9) / 10 * 10
	}
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600 && s%60 == 0:
		return fmt.Sprintf("%d min", s/60)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
}
