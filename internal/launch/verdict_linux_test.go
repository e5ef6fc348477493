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
	for _, c := range []struct {
		name  string
		first int
		ends  []end
		ranks []symmem.RankState
		abort *symmem.AbortInfo
		rank  int
		code  int
		how   string
	}{
		{"no symwin program", 1, []end{{}, failed}, []symmem.RankState{absent, absent},
			// The launcher wrote this when rank 0 exited; nobody read it.
			&symmem.AbortInfo{Author: -1, Kind: symmem.AbortRankFailed, Ranks: []int{0}}, 1, 1, "rank 1 exited with code 1"},
		{"a survivor is reaped before the dead", 0, []end{failed, killed}, []symmem.RankState{alive, alive},
			&symmem.AbortInfo{Author: 0, Kind: symmem.AbortRankFailed, Ranks: []int{1}}, 1, 137, "rank 1 was killed by SIGKILL"},
		{"several died: one that ended badly", 0, []end{failed, {}, killed}, []symmem.RankState{alive, alive, alive},
			&symmem.AbortInfo{Author: 0, Kind: symmem.AbortRankFailed, Ranks: []int{1, 2}}, 2, 137, "rank 2 was killed by SIGKILL"},
		{"left with code 0", 0, []end{failed, {}}, []symmem.RankState{alive, alive},
			&symmem.AbortInfo{Author: 0, Kind: symmem.AbortRankFailed, Ranks: []int{1}}, 1, 1, "rank 1 exited with code 0 but never closed its world"},
		{"did not join", 0, []end{failed, {}}, []symmem.RankState{alive, absent},
			&symmem.AbortInfo{Author: -1, Kind: symmem.AbortRankFailed, Ranks: []int{1}}, 1, 1, "rank 1 exited with code 0 before joining"},
		{"a deadline inside a collective", 0, []end{failed, failed}, []symmem.RankState{alive, alive},
			&symmem.AbortInfo{Author: 1, Kind: symmem.AbortTimeout, Text: "barrier #1: waited 10m"}, 1, 124,
			"rank 1 gave up (timeout: barrier #1: waited 10m) and exited with code 1"},
		{"the author recovers, another does not", 0, []end{{code: 3}, {}}, []symmem.RankState{alive, alive},
			&symmem.AbortInfo{Author: 1, Kind: symmem.AbortMismatch, Text: "x"}, 1, 3, "rank 1 gave up (mismatch: x) and exited with code 0"},
		{"nobody said anything", 0, []end{killed, {}}, []symmem.RankState{alive, alive}, nil, 0, 137, "rank 0 was killed by SIGKILL"},
		{"one panicked, and closed its world on the way out", 0, []end{failed, {code: 2}, {code: 3}}, []symmem.RankState{called, {Life: symmem.Left}, {Life: symmem.Left, Records: called.Records}},
			&symmem.AbortInfo{Author: -1, Kind: symmem.AbortRankFailed, Ranks: []int{0}}, 1, 2, "rank 1 exited with code 2"},
		{"one closed its world and was ended by us", 0, []end{failed, {signal: syscall.SIGTERM}}, []symmem.RankState{called, {Life: symmem.Left}},
			&symmem.AbortInfo{Author: -1, Kind: symmem.AbortRankFailed, Ranks: []int{0}}, 0, 1, "rank 0 exited with code 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scene{first: c.first, ends: c.ends, before: symmem.Snapshot{Ranks: c.ranks}, abort: c.abort}
			rank, code, how := s.blame()
			require.Equal(t, c.how, how)
			require.Equal(t, c.rank, rank)
			require.Equal(t, c.code, code)
		})
	}
}

func TestDoing(t *testing.T) {
	call := symmem.Record{Sequence: 3, Op: symmem.OpBarrier}
	waiting := symmem.RankState{Life: symmem.Alive, Call: call, Waits: []symmem.WaitState{
		{Call: call, Missing: []int{2, 5}, Since: 12300 * time.Millisecond},
		{Call: symmem.Record{Op: symmem.OpRecv}, Missing: []int{1}, Since: time.Second},
	}}
	s := symmem.Snapshot{Ranks: []symmem.RankState{
		waiting, waiting, {Life: symmem.Dead}, {Life: symmem.Left, Call: call}, waiting, {}, {}, {Life: symmem.Alive}, {Life: symmem.Alive, Call: call},
	}}
	require.Equal(t, "ranks 0-1,4 waited in barrier #3 on team 0 for ranks 2,5 since 12s; rank 3 last called barrier #3 on team 0 and left; "+
		"rank 5 had exited before joining; rank 6 had not joined; rank 7 made no call; rank 8 last called barrier #3 on team 0",
		doing(s, []bool{5: true, 8: false}, 2))

	// However many ranks do different things, it stays a line.
	phrases := make([]string, 1000)
	for i := range phrases {
		phrases[i] = fmt.Sprintf("did %d", i)
	}
	require.Equal(t, "rank 10 did 10; rank 11 did 11; and 988 ranks more", grouped(phrases)[len(grouped(phrases))-len("rank 10 did 10; rank 11 did 11; and 988 ranks more"):])
}
