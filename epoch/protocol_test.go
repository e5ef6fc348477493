package epoch_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/symwin/symwin/epoch"
)

// member is one rank of the session that TestAnyPatternIsSafe plays: its own
// memory, and what it knows of itself and others.
type member struct {
	now     epoch.Index
	waiting bool // in a collective EndEpoch, until all are
	ended   uint64
	heard   []uint64
	lines   []epoch.Line
}

type message struct {
	from, to int
	in       epoch.Index
}

// TestAnyPatternIsSafe plays the protocol with nothing but this package's rules,
// in any order, sparse or dense, with ranks that run ahead, over the end of a
// lap, and on memory where lines of the lap's first epochs are still lying about.
// The oracle is the list of what was sent: whoever looks must see exactly that.
func TestAnyPatternIsSafe(t *testing.T) {
	const members, eltSize = 3, 8
	slots, err := epoch.Slots(members, eltSize)
	require.NoError(t, err)

	rapid.Check(t, func(t *rapid.T) {
		start := epoch.Index(rapid.Uint64Range(1, 3).Draw(t, "lap")*epoch.Lap - rapid.Uint64Range(0, 9).Draw(t, "before"))
		inLap := start - start%epoch.Lap
		ranks := make([]*member, members)
		for r := range ranks {
			ranks[r] = &member{now: start, ended: uint64(start), heard: make([]uint64, members), lines: make([]epoch.Line, 1+2*slots)}
			for sender := range members {
				for first := inLap; first < inLap+2 && first+2 < start; first++ {
					old := first + 2*epoch.Index(rapid.IntRange(0, 2).Draw(t, "old"))
					if old >= start-1 {
						continue
					}
					ranks[r].lines[epoch.RegionStart(old, slots)+epoch.SlotOf(sender, 0, 1)] = epoch.Pack(payload(message{sender, r, old}), old.Tag())
				}
			}
		}
		sent := map[message]bool{}
		drawRank := rapid.IntRange(0, members-1)

		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				from, to := drawRank.Draw(t, "from"), drawRank.Draw(t, "to")
				m := message{from, to, ranks[from].now}
				if ranks[from].waiting || sent[m] {
					t.Skip("not now")
				}
				if !m.in.MayWrite(ranks[from].heard[to]) {
					ranks[from].heard[to] = ranks[to].ended // a look at the header
				}
				if !m.in.MayWrite(ranks[from].heard[to]) {
					t.Skip("would wait")
				}
				ranks[to].lines[epoch.RegionStart(m.in, slots)+epoch.SlotOf(from, 0, 1)] = epoch.Pack(payload(m), m.in.Tag())
				sent[m] = true
			},
			"look": func(t *rapid.T) {
				to, from := drawRank.Draw(t, "to"), drawRank.Draw(t, "from")
				me := ranks[to]
				if me.waiting {
					t.Skip("not now")
				}
				m := message{from, to, me.now}
				data, ok := me.lines[epoch.RegionStart(me.now, slots)+epoch.SlotOf(from, 0, 1)].Unpack(me.now.Tag())
				require.Equal(t, sent[m], ok, "rank %d in epoch %d, from rank %d", to, me.now, from)
				if ok {
					require.Equal(t, payload(m), data)
					require.GreaterOrEqual(t, ranks[from].ended, uint64(me.now), "a line proves more than is true")
					me.heard[from] = max(me.heard[from], uint64(me.now))
				}
			},
			"end": func(t *rapid.T) {
				me := ranks[drawRank.Draw(t, "rank")]
				if me.waiting {
					t.Skip("not now")
				}
				if !me.now.Wraps() {
					me.now++
					me.ended++
					return
				}
				me.waiting = true
				for _, other := range ranks {
					if !other.waiting {
						return
					}
				}
				for _, other := range ranks { // the second barrier: all go on together
					clear(other.lines[1:])
					other.now++
					other.ended++
					other.waiting = false
				}
			},
		})
	})
}

// payload is different for every message that two laps can hold.
func payload(m message) uint64 {
	return uint64(m.in)<<8 | uint64(m.from)<<4 | uint64(m.to)
}
