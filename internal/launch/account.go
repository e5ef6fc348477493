package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/symwin/symwin/internal/topo"
	"github.com/symwin/symwin/symmem"
)

// A job that fails or does not go on is explained by its records in less than a
// screen: so many calls at most, and so many different histories of ranks.
const (
	maxCalls     = 6
	maxHistories = 12
	maxHistory   = 4 // calls of one rank
)

// Account explains a job from what its ranks have recorded, in lines for people.
// First each call that somebody cannot come out of: who is inside, who never
// came, who called something else in its place; and the waits beside such calls:
// who waits for whom. Then the last calls of every rank, the dead one's too,
// those that did the same together.
func Account(s symmem.Snapshot) []string {
	return append(Unfinished(s), histories(s)...)
}

// Unfinished is the first part of Account.
func Unfinished(s symmem.Snapshot) (lines []string) {
	var seen []symmem.Record
	for _, state := range s.Ranks {
		for _, call := range pending(s, state) {
			if !slices.ContainsFunc(seen, func(c symmem.Record) bool { return place(c) == place(call) }) {
				seen = append(seen, call)
				lines = append(lines, unfinished(s, call))
			}
		}
	}
	lines = append(lines, apart(s)...)
	if left := len(lines) - maxCalls; left > 0 {
		lines = append(lines[:maxCalls], fmt.Sprintf("and %d calls more", left))
	}
	return lines
}

// slot is a place in the order of calls: what all members of a team call there
// must be the same.
type slot struct {
	team, lane int
	sequence   uint64
}

func place(c symmem.Record) slot { return slot{c.Team, c.Lane, c.Sequence} }

// pending are the calls that a rank is inside and waits in, or that others have
// not made, or have made otherwise.
func pending(s symmem.Snapshot, state symmem.RankState) (calls []symmem.Record) {
	for _, call := range latest(state) {
		if !collective(call.Op) || call.Sequence == 0 {
			continue
		}
		others := slices.ContainsFunc(s.Ranks, func(r symmem.RankState) bool {
			own := at(r, place(call))
			return own != nil && !alike(*own, call)
		})
		waits := slices.ContainsFunc(state.Waits, func(w symmem.WaitState) bool { return place(w.Call) == place(call) })
		if others || waits || len(missing(s, call)) > 0 {
			calls = append(calls, call)
		}
	}
	return calls
}

// latest is a rank's newest call, and the newest of each lane that it waits in.
func latest(r symmem.RankState) []symmem.Record {
	calls := []symmem.Record{r.Call}
	for _, w := range r.Waits {
		if full := at(r, place(w.Call)); full != nil && !slices.Contains(calls, *full) {
			calls = append(calls, *full)
		}
	}
	return calls
}

// at is the call that a rank made at a place, as far as its records reach.
func at(r symmem.RankState, p slot) *symmem.Record {
	for _, c := range append(slices.Clone(r.Records), r.Call) {
		if place(c) == p && c.Op != symmem.OpNone {
			return &c
		}
	}
	return nil
}

// alike reports whether two records may be of one call: what was published in
// short says less.
func alike(a, b symmem.Record) bool {
	short := a.EltSize == 0 && a.Count == 0 && a.Digest == 0 || b.EltSize == 0 && b.Count == 0 && b.Digest == 0
	return a.Op == b.Op && a.Engine == b.Engine && (short || a == b)
}

// unfinished tells of one call where its team's members are.
func unfinished(s symmem.Snapshot, call symmem.Record) string {
	phrases := make([]string, len(s.Ranks))
	for r, state := range s.Ranks {
		if !belongs(state, call.Team) {
			continue
		}
		switch own := at(state, place(call)); {
		case own != nil && !alike(*own, call):
			phrases[r] = fmt.Sprintf("called %v in its place", *own)
		case own != nil && slices.ContainsFunc(latest(state), func(c symmem.Record) bool { return place(c) == place(call) }):
			phrases[r] = "inside"
		case made(state, call):
			phrases[r] = "through"
		case state.Life == symmem.NotCome:
			phrases[r] = "never joined"
		case state.Process != "":
			phrases[r] = "never came (" + state.Process + ")"
		default:
			phrases[r] = "never came"
		}
	}
	return fmt.Sprintf("%v: %s", call, grouped(phrases))
}

// apart are the waits that belong to no such call: of receivers, for signals.
func apart(s symmem.Snapshot) []string {
	phrases := make([]string, len(s.Ranks))
	for r, state := range s.Ranks {
		var waits []string
		for _, w := range state.Waits {
			if !collective(w.Call.Op) && len(w.Missing) > 0 {
				waits = append(waits, fmt.Sprintf("in %v waits for %s", w.Call, rankList(w.Missing)))
			}
		}
		phrases[r] = strings.Join(waits, ", ")
	}
	if text := grouped(phrases); text != "" {
		return []string{text}
	}
	return nil
}

// histories tells what each rank called last, newest first.
func histories(s symmem.Snapshot) (lines []string) {
	who := map[string][]int{}
	var order []string
	for r, state := range s.Ranks {
		text := history(state)
		if who[text] == nil {
			order = append(order, text)
		}
		who[text] = append(who[text], r)
	}
	for i, text := range order {
		if i == maxHistories {
			var rest []int
			for _, text := range order[i:] {
				rest = append(rest, who[text]...)
			}
			slices.Sort(rest)
			return append(lines, fmt.Sprintf("%s did other things again; \"shmrun ps -v\" shows live jobs in full", rankList(rest)))
		}
		lines = append(lines, fmt.Sprintf("%s %s", rankList(who[text]), text))
	}
	return lines
}

// history is the end of what a rank has called: its latest call, then those that
// came before it in the same lane, then the latest of other lanes.
func history(r symmem.RankState) string {
	life := r.Life.String()
	if r.Process != "" {
		life = r.Process
	}
	if r.Call.Op == symmem.OpNone {
		return life + ": no call"
	}
	lane := func(c symmem.Record) slot { return slot{team: c.Team, lane: c.Lane} }
	calls := slices.DeleteFunc(slices.Clone(r.Records), func(c symmem.Record) bool { return place(c) == place(r.Call) })
	slices.SortStableFunc(calls, func(a, b symmem.Record) int { return cmp.Compare(b.Sequence, a.Sequence) })
	texts := []string{r.Call.String()}
	for _, same := range []bool{true, false} {
		told := map[slot]bool{}
		for _, c := range calls {
			if (lane(c) == lane(r.Call)) != same || len(texts) == maxHistory || !same && told[lane(c)] {
				continue
			}
			told[lane(c)] = true
			texts = append(texts, c.String())
			if same && len(texts) == maxHistory-1 {
				break
			}
		}
	}
	return life + ": " + strings.Join(texts, " ← ")
}

// collective reports whether an operation takes all members of its team.
func collective(op symmem.Op) bool {
	switch op {
	case symmem.OpNone, symmem.OpSend, symmem.OpRecv, symmem.OpWaitSignal, symmem.OpEndEpoch:
		return false
	}
	return true
}

// rooted reports whether some members come out of an operation before all others
// have come.
func rooted(op symmem.Op) bool {
	switch op {
	case symmem.OpBroadcast, symmem.OpGather, symmem.OpScatter, symmem.OpReduce:
		return true
	}
	return false
}

// made reports whether a rank has made a call, or may have: of a ring that is full
// of other lanes' calls nobody knows what was there.
func made(r symmem.RankState, call symmem.Record) bool {
	seen := false
	for _, c := range slices.Concat(r.Records, []symmem.Record{r.Call}) {
		if c.Team == call.Team && c.Lane == call.Lane {
			seen = true
			if c.Sequence >= call.Sequence {
				return true
			}
		}
	}
	return !seen && len(r.Records) >= ringRecords
}

// belongs reports whether a rank belongs to a team, as far as its calls tell.
func belongs(r symmem.RankState, team int) bool {
	return team == 0 || slices.ContainsFunc(r.Records, func(c symmem.Record) bool { return c.Team == team })
}

// missing lists the members of a team that have not made a call without which
// nobody can come out of it; nil for calls that wait for nobody, or not for all.
func missing(s symmem.Snapshot, call symmem.Record) (ranks []int) {
	if !collective(call.Op) || rooted(call.Op) || call.Op == symmem.OpAllToAllv || call.Op == symmem.OpBatch || call.Op == symmem.OpViews {
		return nil
	}
	for r, state := range s.Ranks {
		if belongs(state, call.Team) && !made(state, call) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

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

// ringRecords is how many calls a rank's control block keeps.
const ringRecords = 64

// maxGroups bounds a verdict's length: beyond so many different phrases nobody
// reads on.
const maxGroups = 12
