package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
)

// scene is what is known when a job has ended badly.
type scene struct {
	first  int               // the rank that was seen to end badly first
	ends   []end             // of all ranks, by the time everything was over
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
// kernel still clears up. So the abort record decides where there is one.
func (s *scene) blame() (rank, code int, how string) {
	code = s.ends[s.first].exitCode()
	tell := func(rank int) string { return fmt.Sprintf("rank %d %v", rank, s.ends[rank]) }
	rank = s.first
	switch a := s.abort; {
	case a == nil || !s.joined():
	case a.Kind == symmem.AbortRankFailed && len(a.Ranks) > 0:
		rank = a.Ranks[0]
		for _, r := range a.Ranks {
			if s.ends[r].bad() {
				rank = r
				break
			}
		}
		// It died for its peers, but told its parent that all was well.
		if !s.ends[rank].bad() {
			how = " but never closed its world"
			if s.before.Ranks[rank].Life == symmem.NotCome {
				how = " before joining"
			}
			return rank, code, tell(rank) + how
		}
	case a.Author >= 0:
		if s.ends[a.Author].bad() {
			code = s.ends[a.Author].exitCode()
		}
		if a.Kind == symmem.AbortTimeout {
			code = exitTimeout
		}
		return a.Author, code, fmt.Sprintf("rank %d gave up (%v: %s) and %v", a.Author, a.Kind, a.Text, s.ends[a.Author])
	}
	if r := s.deserter(rank); r >= 0 {
		rank = r
	}
	return rank, s.ends[rank].exitCode(), tell(rank)
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
	made := func(c symmem.Record) bool {
		return c.Team == call.Team && c.Lane == call.Lane && c.Sequence >= call.Sequence
	}
	for r, state := range s.before.Ranks {
		byUs := s.ends[r].signal == syscall.SIGTERM || s.ends[r].signal == syscall.SIGKILL
		if state.Life == symmem.Left && s.ends[r].bad() && !byUs && !slices.ContainsFunc(state.Records, made) {
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
			phrases[r] = activity(state, ended[r])
		}
	}
	return grouped(phrases)
}

func activity(r symmem.RankState, ended bool) string {
	switch {
	case r.Life == symmem.NotCome && ended:
		return "had exited before joining"
	case r.Life == symmem.NotCome:
		return "had not joined"
	case r.Life == symmem.Alive && len(r.Waits) > 0:
		// A rank's oldest wait is the one that explains it.
		w := slices.MaxFunc(r.Waits, func(a, b symmem.WaitState) int { return cmp.Compare(a.Since, b.Since) })
		text := fmt.Sprintf("waited in %v", w.Call)
		if len(w.Missing) > 0 {
			text += " for " + rankList(w.Missing)
		}
		if s := w.Since.Truncate(time.Second); s > 0 {
			text += fmt.Sprintf(" since %v", s)
		}
		return text
	}
	text := "made no call"
	if r.Call.Op != symmem.OpNone {
		text = fmt.Sprintf("last called %v", r.Call)
	}
	// Survivors are quick: many have given up and left by now.
	switch r.Life {
	case symmem.Left:
		text += " and left"
	case symmem.Dead:
		text += " and ended"
	}
	return text
}

// maxGroups bounds a verdict's length: beyond so many different phrases nobody
// reads on.
const maxGroups = 12

// grouped writes each phrase once, with the ranks that share it; an empty phrase
// is nobody's.
func grouped(phrases []string) string {
	var order []string
	who := map[string][]int{}
	for r, p := range phrases {
		if p == "" {
			continue
		}
		if who[p] == nil {
			order = append(order, p)
		}
		who[p] = append(who[p], r)
	}
	var parts []string
	for i, p := range order {
		if i == maxGroups {
			left := 0
			for _, p := range order[i:] {
				left += len(who[p])
			}
			parts = append(parts, fmt.Sprintf("and %d ranks more", left))
			break
		}
		parts = append(parts, rankList(who[p])+" "+p)
	}
	return strings.Join(parts, "; ")
}

// rankList reads "rank 3" or "ranks 0-2,7".
func rankList(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	return "ranks " + topo.FormatList(ranks)
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
