package main

import (
	"slices"
	"strings"
	"time"
)

// judge says what was wrong with a round that is over.
func (j *job) judge(o *outcome) {
	if o.hung {
		o.fail("it hung")
	}
	o.reached = j.first != 0
	for _, e := range j.events {
		switch {
		case e.Class == "wrong" && !j.spoils():
			o.wrong++
			o.fail("rank %d: %s", e.Rank, e.Text)
		case e.What == "noise":
			o.fail("somebody wrote %q", e.Text)
		case e.Class == "other":
			o.fail("rank %d got an error of no class: %s", e.Rank, e.Text)
		}
	}
	switch {
	case j.deaths():
		j.judgeDeaths(o)
	case j.Fault == stopped, j.Fault == pointed && j.How == "stop":
		for r := range j.Ranks {
			if e := j.end(r, o); e != nil && e.Class != "" {
				o.fail("rank %d did not survive a stop: %s", r, e.Text)
			}
		}
	case j.Fault == full:
		j.judgeSpace(o)
	case j.spoils():
		for r := range j.Ranks {
			j.end(r, o)
		}
	}
}

// end is how a rank says that its work ended; saying nothing is a failure.
func (j *job) end(rank int, o *outcome) *event {
	if ends := j.of(rank, "ended"); len(ends) > 0 {
		return &ends[0]
	}
	if !o.hung {
		o.fail("rank %d ended without a word", rank)
	}
	return nil
}

// dead lists the ranks that the fault ended. One that was killed from outside
// when it had nothing more to do may have ended by itself.
func (j *job) dead() (ranks []int) {
	for _, r := range j.Victims {
		if len(j.of(r, "dying")) > 0 || slices.Contains(j.hit, r) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// judgeDeaths: each survivor names one of the dead at least, and nobody else.
func (j *job) judgeDeaths(o *outcome) {
	dead := j.dead()
	o.deaths = len(dead)
	for r := range j.Ranks {
		if slices.Contains(dead, r) {
			continue
		}
		joined := len(j.of(r, "joined")) > 0
		if j.Hosted && (j.Fault == joining || once(j.Point)) && !joined && strings.Contains(o.written, "shmrun: rank") {
			continue // the launcher has ended it at once, and told why
		}
		e := j.end(r, o)
		if e == nil {
			continue
		}
		switch {
		case len(dead) == 0:
			if e.Class != "" {
				o.fail("rank %d failed though nobody died: %s", r, e.Text)
			}
			continue
		case e.Class == "failed" && j.names(*e, dead):
			o.detection = append(o.detection, time.Duration(e.At-j.first))
		case e.Class == "" && j.late(dead):
			// It had all it wanted before they died.
		case !joined && (e.Class == "timeout" || e.Class == "usage" || e.Class == "failed"):
			// Dead before it came, it did not come; or another rank has given
			// the join up, and this one was too late for its region.
		default:
			o.fail("rank %d should name of %v, says: %s %v: %s", r, dead, e.Class, e.Ranks, e.Text)
		}
		for _, a := range j.of(r, "again") {
			if joined && (a.Class != "failed" || !j.names(a, dead)) {
				o.fail("rank %d should say the same of a later call, says: %s %v: %s", r, a.Class, a.Ranks, a.Text)
			}
		}
	}
}

// names reports whether an error names some of the dead and nobody else.
func (j *job) names(e event, dead []int) bool {
	return len(e.Ranks) > 0 && !slices.ContainsFunc(e.Ranks, func(r int) bool { return !slices.Contains(dead, r) })
}

// late reports whether the dead had come to the end of their work before.
func (j *job) late(dead []int) bool {
	for _, r := range dead {
		if ends := j.of(r, "ended"); len(ends) == 0 || ends[0].Class != "" {
			return false
		}
	}
	return true
}

// judgeSpace: all ranks saw the same, or none could begin.
func (j *job) judgeSpace(o *outcome) {
	var filled []event
	for r := range j.Ranks {
		e := j.end(r, o)
		if e == nil {
			if j.Hosted && strings.Contains(o.written, "not enough space") {
				o.failures = o.failures[:len(o.failures)-1] // the launcher said it for all
			}
			continue
		}
		if e.Class == "" {
			filled = append(filled, j.of(r, "filled")...)
		} else if !(len(j.of(r, "joined")) == 0 && slices.Contains([]string{"space", "timeout", "failed", "usage"}, e.Class)) {
			o.fail("rank %d: %s", r, e.Text)
		}
	}
	for _, e := range filled {
		if !slices.Equal(e.Did, filled[0].Did) {
			o.fail("ranks %d and %d saw different Allocs succeed: %v, %v", filled[0].Rank, e.Rank, filled[0].Did, e.Did)
		}
	}
}
