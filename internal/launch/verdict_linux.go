package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/symwin/symwin/symmem"
)

// scene is what is known when a job has ended badly.
type scene struct {
	first  int               // the rank that was seen to end badly first
	ends   []end             // of all ranks, by the time everything was over
	order  []int             // the ranks in the order in which their ends were seen
	before symmem.Snapshot   // taken when the first bad end was seen
	early  []bool            // which ranks had ended by then
	abort  *symmem.AbortInfo // the region's first cause, which may be older than what was seen
}

// joined reports whether any rank had come: otherwise the program is none of
// symwin's, or did not get so far, and the region has nothing to tell.
func (s *scene) joined() bool {
	return slices.ContainsFunc(s.before.Ranks, func(r symmem.RankState) bool { return r.Life != symmem.NotCome })
}

// blame finds the first cause. The launcher reaps ranks in any order: those that
// merely heard of a death are often gone before the dead rank itself, which the
// kernel still clears up. So what the region holds decides: a team that was given
// up before the first end, or else the abort record.
func (s *scene) blame() (rank, code int, how string) {
	if r := s.revocation(); r != nil {
		if d := s.deserter(r.Author); d >= 0 {
			return s.ended(d)
		}
		return s.gaveUp(r.AbortInfo)
	}
	rank = s.first
	switch a := s.abort; {
	case a == nil || !s.joined():
	case a.Kind == symmem.AbortRankFailed && len(a.Ranks) > 0:
		rank = s.firstOf(a.Ranks)
		// It died for its peers, but told its parent that all was well.
		if !s.ends[rank].bad() {
			why := " but never closed its world"
			if s.before.Ranks[rank].Life == symmem.NotCome {
				why = " before joining"
			}
			_, _, how = s.ended(rank)
			return rank, s.ends[s.first].exitCode(), how + why
		}
	case a.Author >= 0:
		return s.gaveUp(*a)
	}
	if d := s.deserter(rank); d >= 0 {
		rank = d
	}
	return s.ended(rank)
}

// ended blames a rank for how it ended.
func (s *scene) ended(rank int) (int, int, string) {
	return rank, s.ends[rank].exitCode(), fmt.Sprintf("rank %d %v", rank, s.ends[rank])
}

// gaveUp blames the author of an abort for what it told its peers.
func (s *scene) gaveUp(a symmem.AbortInfo) (int, int, string) {
	code := s.ends[s.first].exitCode()
	if s.ends[a.Author].bad() {
		code = s.ends[a.Author].exitCode()
	}
	if a.Kind == symmem.AbortTimeout {
		code = exitTimeout
	}
	return a.Author, code, fmt.Sprintf("rank %d gave up (%v: %s) and %v", a.Author, a.Kind, a.Text, s.ends[a.Author])
}

// revocation is the team that was given up before the first end and explains it,
// or nil. A death by a signal explains itself: the team may have been given up
// and been got over long before.
func (s *scene) revocation() *symmem.Revocation {
	died := []int{s.first}
	if a := s.abort; a != nil && a.Kind == symmem.AbortRankFailed {
		died = append(died, a.Ranks...)
	}
	if slices.ContainsFunc(died, func(r int) bool { return s.ends[r].signal != 0 }) {
		return nil
	}
	for i, r := range s.before.Revocations {
		if belongs(s.before.Ranks[s.first], r.Team) {
			return &s.before.Revocations[i]
		}
	}
	return nil
}

// firstOf is that of several dead ranks whose end was seen first, and was bad.
func (s *scene) firstOf(ranks []int) int {
	for _, r := range s.order {
		if s.ends[r].bad() && slices.Contains(ranks, r) {
			return r
		}
	}
	return ranks[0]
}

// orderly reports whether all ranks but one had closed their worlds by the first
// end, and ended well: nothing is to be told of them.
func (s *scene) orderly(but int) bool {
	for r, state := range s.before.Ranks {
		if r != but && (state.Life != symmem.Left || s.ends[r].bad()) {
			return false
		}
	}
	return true
}

// deserter finds, where a rank gave up by itself, another that had closed its
// world without having made the call that the first was in, and ended badly too:
// so does a panic that runs a deferred Close, and its stacks take longer to write
// than its peers take to give up. -1: none.
func (s *scene) deserter(rank int) int {
	call := s.before.Ranks[rank].Call
	if s.ends[rank].signal != 0 || call.Op == symmem.OpNone {
		return -1
	}
	for r, state := range s.before.Ranks {
		byUs := s.ends[r].signal == syscall.SIGTERM || s.ends[r].signal == syscall.SIGKILL
		if state.Life == symmem.Left && s.ends[r].bad() && !byUs && !made(state, call) {
			return r
		}
	}
	return -1
}

// doing tells in one phrase what the ranks were doing, those without except.
func doing(s symmem.Snapshot, ended []bool, except int) string {
	phrases := make([]string, len(s.Ranks))
	for r, state := range s.Ranks {
		if r != except {
			phrases[r] = activity(state, ended[r], missing(s, state.Call))
		}
	}
	return grouped(phrases)
}

// activity is what a rank did. Survivors are quick: by the time of the snapshot
// most have been told and have left, and their wait is over. But a call that
// somebody has not made was a wait for him.
func activity(r symmem.RankState, ended bool, missing []int) string {
	switch {
	case r.Life == symmem.NotCome && ended:
		return "had exited before joining"
	case r.Life == symmem.NotCome:
		return "had not joined"
	case r.Life == symmem.Alive && len(r.Waits) > 0:
		// A rank's oldest wait is the one that explains it.
		w := slices.MaxFunc(r.Waits, func(a, b symmem.WaitState) int { return cmp.Compare(a.Since, b.Since) })
		text := waited(w.Call, w.Missing)
		if s := w.Since.Truncate(time.Second); s > 0 {
			text += fmt.Sprintf(" since %v", s)
		}
		return text
	case len(missing) > 0:
		return waited(r.Call, missing)
	}
	called := r.Call.Op != symmem.OpNone
	switch {
	case r.Life == symmem.Left && !called:
		return "had joined and closed"
	case r.Life == symmem.Dead && !called:
		return "had joined, its process has ended"
	case !called:
		return "made no call"
	}
	text := fmt.Sprintf("last called %v", r.Call)
	switch r.Life {
	case symmem.Left:
		text += " and closed"
	case symmem.Dead:
		text += ", its process has ended"
	}
	return text
}

func waited(call symmem.Record, missing []int) string {
	text := fmt.Sprintf("waited in %v", call)
	if len(missing) > 0 {
		text += " for " + rankList(missing)
	}
	return text
}

// unclosed names, after a good end, the ranks that joined and never closed their
// world: their peers would have taken that for a death.
func unclosed(s symmem.Snapshot) string {
	var ranks []int
	for r, state := range s.Ranks {
		if state.Life == symmem.Dead || state.Life == symmem.Alive {
			ranks = append(ranks, r)
		}
	}
	if ranks == nil {
		return ""
	}
	return rankList(ranks) + " exited with code 0 but never closed the world (defer w.Close())"
}

// join joins two parts of a verdict.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}
