package launch

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/symmem"
)

func TestBlame(t *testing.T) {
	killed := end{signal: syscall.SIGKILL}
	failed := end{code: 1}
	alive := symmem.RankState{Life: symmem.Alive}
	absent := symmem.RankState{}
	barrier := symmem.Record{Op: symmem.OpBarrier, Sequence: 4}
	called := symmem.RankState{Life: symmem.Alive, Call: barrier, Records: []symmem.Record{barrier}}
	mismatch := func(team int) []symmem.Revocation {
		return []symmem.Revocation{{Team: team, AbortInfo: symmem.AbortInfo{Kind: symmem.AbortMismatch, Text: "x"}}}
	}
	for _, c := range []struct {
		name  string
		first int
		ends  []end
		ranks []symmem.RankState
		abort *symmem.AbortInfo
		rank  int
		code  int
		how   string
		gave  []symmem.Revocation
		order []int
	}{
		{name: "several died: the one that was seen first", first: 2, ends: []end{failed, {code: 3}, failed}, ranks: []symmem.RankState{alive, alive, alive},
			abort: &symmem.AbortInfo{Author: 2, Kind: symmem.AbortRankFailed, Ranks: []int{0, 1}}, order: []int{2, 1, 0}, rank: 1, code: 3, how: "rank 1 exited with code 3"},
		{name: "a team given up before the deaths", first: 2, ends: []end{failed, {}, {code: 3}}, ranks: []symmem.RankState{called, alive, called}, gave: mismatch(0),
			abort: &symmem.AbortInfo{Author: 1, Kind: symmem.AbortRankFailed, Ranks: []int{0, 2}}, rank: 0, code: 1, how: "rank 0 gave up (mismatch: x) and exited with code 1"},
		{name: "a team given up, and a death by itself", first: 1, ends: []end{failed, failed, killed}, ranks: []symmem.RankState{called, alive, called}, gave: mismatch(0),
			abort: &symmem.AbortInfo{Author: 1, Kind: symmem.AbortRankFailed, Ranks: []int{2}}, rank: 2, code: 137, how: "rank 2 was killed by SIGKILL"},
		{name: "another team given up", first: 1, ends: []end{failed, failed}, ranks: []symmem.RankState{called, alive}, gave: mismatch(3), rank: 1, code: 1, how: "rank 1 exited with code 1"},
		{name: "given up because one panicked, and closed its world", first: 0, ends: []end{failed, {code: 2}}, ranks: []symmem.RankState{called, {Life: symmem.Left}},
			gave: []symmem.Revocation{{AbortInfo: symmem.AbortInfo{Kind: symmem.AbortLeft}}}, rank: 1, code: 2, how: "rank 1 exited with code 2"},
		{"no symwin program", 1, []end{{}, failed}, []symmem.RankState{absent, absent},
			// The launcher wrote this when rank 0 exited; nobody read it.
			&symmem.AbortInfo{Author: -1, Kind: symmem.AbortRankFailed, Ranks: []int{0}}, 1, 1, "rank 1 exited with code 1", nil, nil},
		{"a survivor is reaped before the dead", 0, []end{failed, killed}, []symmem.RankState{alive, alive},
			&symmem.AbortInfo{Author: 0, Kind: symmem.AbortRankFailed, Ranks: []int{1}}, 1, 137, "rank 1 was killed by SIGKILL", nil, nil},
		{"several died: one that ended badly", 0, []end{failed, {}, killed}, []symmem.RankState{alive, alive, alive},
			&symmem.AbortInfo{Author: 0, Kind: symmem.AbortRankFailed, Ranks: []int{1, 2}}, 2, 137, "rank 2 was killed by SIGKILL", nil, []int{0, 1, 2}},
		{"left with code 0", 0, []end{failed, {}}, []symmem.RankState{alive, alive},
			&symmem.AbortInfo{Author: 0, Kind: symmem.AbortRankFailed, Ranks: []int{1}}, 1, 1, "rank 1 exited with code 0 but never closed its world", nil, nil},
		{"did not join", 0, []end{failed, {}}, []symmem.RankState{alive, absent},
			&symmem.AbortInfo{Author: -1, Kind: symmem.AbortRankFailed, Ranks: []int{1}}, 1, 1, "rank 1 exited with code 0 before joining", nil, nil},
		{"a deadline inside a collective", 0, []end{failed, failed}, []symmem.RankState{alive, alive},
			&symmem.AbortInfo{Author: 1, Kind: symmem.AbortTimeout, Text: "barrier #1: waited 10m"}, 1, 124,
			"rank 1 gave up (timeout: barrier #1: waited 10m) and exited with code 1", nil, nil},
		{"the author recovers, another does not", 0, []end{{code: 3}, {}}, []symmem.RankState{alive, alive},
			&symmem.AbortInfo{Author: 1, Kind: symmem.AbortMismatch, Text: "x"}, 1, 3, "rank 1 gave up (mismatch: x) and exited with code 0", nil, nil},
		{"nobody said anything", 0, []end{killed, {}}, []symmem.RankState{alive, alive}, nil, 0, 137, "rank 0 was killed by SIGKILL", nil, nil},
		{"one panicked, and closed its world on the way out", 0, []end{failed, {code: 2}, {code: 3}}, []symmem.RankState{called, {Life: symmem.Left}, {Life: symmem.Left, Records: called.Records}},
			&symmem.AbortInfo{Author: -1, Kind: symmem.AbortRankFailed, Ranks: []int{0}}, 1, 2, "rank 1 exited with code 2", nil, nil},
		{"one closed its world and was ended by us", 0, []end{failed, {signal: syscall.SIGTERM}}, []symmem.RankState{called, {Life: symmem.Left}},
			&symmem.AbortInfo{Author: -1, Kind: symmem.AbortRankFailed, Ranks: []int{0}}, 0, 1, "rank 0 exited with code 1", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scene{first: c.first, ends: c.ends, order: c.order, before: symmem.Snapshot{Ranks: c.ranks, Revocations: c.gave}, abort: c.abort}
			rank, code, how := s.blame()
			require.Equal(t, c.how, how)
			require.Equal(t, c.rank, rank)
			require.Equal(t, c.code, code)
		})
	}
}

func TestDoing(t *testing.T) {
	call := symmem.Record{Sequence: 3, Op: symmem.OpBarrier}
	recv := symmem.Record{Sequence: 9, Op: symmem.OpRecv}
	waiting := symmem.RankState{Life: symmem.Alive, Call: call, Waits: []symmem.WaitState{
		{Call: call, Missing: []int{2, 5}, Since: 12300 * time.Millisecond},
		{Call: symmem.Record{Op: symmem.OpRecv}, Missing: []int{1}, Since: time.Second},
	}}
	s := symmem.Snapshot{Ranks: []symmem.RankState{
		waiting, waiting, {Life: symmem.Dead}, {Life: symmem.Left, Call: call}, waiting, {}, {}, {Life: symmem.Alive}, {Life: symmem.Alive, Call: recv},
	}}
	require.Equal(t, "ranks 0-1,4 waited in barrier #3 on team 0 for ranks 2,5 since 12s; rank 3 waited in barrier #3 on team 0 for ranks 2,5-7; "+
		"rank 5 had exited before joining; rank 6 had not joined; rank 7 made no call; rank 8 last called recv #9 on team 0",
		doing(s, []bool{5: true, 8: false}, 2))

	s = symmem.Snapshot{Ranks: []symmem.RankState{{Life: symmem.Left}, {Life: symmem.Dead}, {Life: symmem.Left, Call: recv}, {Life: symmem.Dead, Call: recv}}}
	require.Equal(t, "rank 0 had joined and closed; rank 1 had joined, its process has ended; "+
		"rank 2 last called recv #9 on team 0 and closed; rank 3 last called recv #9 on team 0, its process has ended", doing(s, make([]bool, 4), -1))

	// However many ranks do different things, it stays a line.
	phrases := make([]string, 1000)
	for i := range phrases {
		phrases[i] = fmt.Sprintf("did %d", i)
	}
	require.Equal(t, "rank 10 did 10; rank 11 did 11; and 988 ranks more", grouped(phrases)[len(grouped(phrases))-len("rank 10 did 10; rank 11 did 11; and 988 ranks more"):])
}
