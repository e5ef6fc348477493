package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/symmem"
)

// ring makes the state of a rank that has made these calls of the world's team,
// numbered from 1.
func ring(life symmem.Life, calls ...symmem.Record) symmem.RankState {
	st := symmem.RankState{Life: life}
	for i, c := range calls {
		if c.Sequence == 0 {
			c.Sequence = uint64(i + 1)
		}
		st.Records = append(st.Records, c)
		st.Call = c
	}
	return st
}

func TestAccount(t *testing.T) {
	alloc, barrier := symmem.Record{Op: symmem.OpAlloc, EltSize: 8, Count: 100}, symmem.Record{Op: symmem.OpBarrier}
	exchange := symmem.Record{Op: symmem.OpAllToAll, Engine: symmem.EngineLL64, EltSize: 4, Count: 2}
	short := symmem.Record{Op: symmem.OpAllToAll, Engine: symmem.EngineLL64}
	sub := symmem.Record{Op: symmem.OpBarrier, Team: 3}
	waits := func(st symmem.RankState, call symmem.Record, missing ...int) symmem.RankState {
		st.Waits = append(st.Waits, symmem.WaitState{Call: call, Missing: missing, Since: time.Second})
		return st
	}
	stopped := ring(symmem.Alive, alloc)
	stopped.Process = "stopped"
	recv := symmem.Record{Op: symmem.OpRecv, Engine: symmem.EngineLL16, Sequence: 7}
	batch := symmem.Record{Op: symmem.OpBatch, Engine: symmem.EngineCE, Lane: 5, Sequence: 9}

	for what, c := range map[string]struct {
		ranks []symmem.RankState
		want  []string
	}{
		"one is dead": {[]symmem.RankState{ring(symmem.Alive, alloc, barrier), ring(symmem.Dead, alloc), ring(symmem.Alive, alloc, barrier)}, []string{
			"barrier #2 on team 0: ranks 0,2 inside; rank 1 never came",
			"ranks 0,2 alive: barrier #2 on team 0 ← alloc #1 of 100×8 B on team 0",
			"rank 1 dead: alloc #1 of 100×8 B on team 0",
		}},
		"one is stopped": {[]symmem.RankState{ring(symmem.Alive, alloc, barrier), stopped, ring(symmem.Alive, alloc, barrier, alloc)}, []string{
			"barrier #2 on team 0: rank 0 inside; rank 1 never came (stopped); rank 2 through",
			"alloc #3 of 100×8 B on team 0: rank 0 never came; rank 1 never came (stopped); rank 2 inside",
			"rank 0 alive: barrier #2 on team 0 ← alloc #1 of 100×8 B on team 0",
			"rank 1 stopped: alloc #1 of 100×8 B on team 0",
			"rank 2 alive: alloc #3 of 100×8 B on team 0 ← barrier #2 on team 0 ← alloc #1 of 100×8 B on team 0",
		}},
		"one called something else": {[]symmem.RankState{ring(symmem.Alive, exchange), ring(symmem.Alive, barrier), ring(symmem.Alive, short)}, []string{
			"alltoall #1 of 2×4 B on team 0 (ll64): ranks 0,2 inside; rank 1 called barrier #1 on team 0 in its place",
			"rank 0 alive: alltoall #1 of 2×4 B on team 0 (ll64)",
			"rank 1 alive: barrier #1 on team 0",
			"rank 2 alive: alltoall #1 on team 0 (ll64)",
		}},
		"a sub-team's affair": {[]symmem.RankState{ring(symmem.Alive, alloc, sub), ring(symmem.Alive, alloc), ring(symmem.Dead, alloc, symmem.Record{Op: symmem.OpSplit, Team: 3, Sequence: 1})}, []string{
			"barrier #2 on team 3: rank 0 inside; rank 2 never came",
			"rank 0 alive: barrier #2 on team 3 ← alloc #1 of 100×8 B on team 0",
			"rank 1 alive: alloc #1 of 100×8 B on team 0",
			"rank 2 dead: split #1 on team 3 ← alloc #1 of 100×8 B on team 0",
		}},
		"waits beside collectives, and in a stream": {[]symmem.RankState{
			waits(ring(symmem.Alive, barrier), recv, 2),
			waits(waits(ring(symmem.Alive, barrier, batch), batch, 2), recv, 0),
			ring(symmem.Alive, barrier),
		}, []string{
			"batch #9 on team 0 lane 5 (ce): ranks 0,2 never came; rank 1 inside",
			"rank 0 in recv #7 on team 0 (ll16) waits for rank 2; rank 1 in recv #7 on team 0 (ll16) waits for rank 0",
			"ranks 0,2 alive: barrier #1 on team 0",
			"rank 1 alive: batch #9 on team 0 lane 5 (ce) ← barrier #1 on team 0",
		}},
		"all is well": {[]symmem.RankState{ring(symmem.Left, barrier), ring(symmem.Left, barrier)}, []string{"ranks 0-1 left: barrier #1 on team 0"}},
	} {
		t.Run(what, func(t *testing.T) {
			require.Equal(t, c.want, Account(symmem.Snapshot{Ranks: c.ranks}))
		})
	}
}

// However many ranks do different things, it is less than a screen.
func TestAccountIsShort(t *testing.T) {
	var s symmem.Snapshot
	for r := range 300 {
		s.Ranks = append(s.Ranks, ring(symmem.Alive, symmem.Record{Op: symmem.OpBarrier, Team: 1 + r%63, Sequence: uint64(r + 1)}))
	}
	lines := Account(s)
	require.LessOrEqual(t, len(lines), 22)
	require.Regexp(t, `^and \d+ calls more$`, lines[maxCalls])
	require.Regexp(t, `^ranks 12-299 did other things again`, lines[len(lines)-1])
	for _, line := range lines[:maxCalls] {
		require.Regexp(t, `^barrier #\d+ on team \d+: rank`, line)
	}
}
