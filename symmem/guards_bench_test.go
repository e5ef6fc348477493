package symmem

import (
	"context"
	"testing"
)

// BenchmarkGuards is what keeping watch costs an operation, part by part, in a
// world of eight whose words are all in this CPU's cache.
func BenchmarkGuards(b *testing.B) {
	r := heapRegion("bench", Geometry{Size: 8, Window: hugeBytes})
	w := newWorld(Options{}, r)
	t, lane := w.team, w.team.lane
	ctx := context.Background()
	for _, part := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"look on entry", func() { _ = t.ended() }},
		{"gate, in and out", func() { lane.gate.enter(); lane.gate.leave() }},
		{"record in short", func() { lane.call.Sequence++; lane.PublishLate() }},
		{"record in full", func() { lane.call.Sequence++; lane.Publish() }},
		{"look at 7 doorbells", func() { t.NudgeAll() }},
		{"behind a full barrier", func() { t.RingAll() }},
		{"look behind the spin", func() { _ = (&Watch{team: t, place: -1}).Ended() }},
		{"look when a park runs out", func() { _ = t.inspect() }},
		{"context", func() { _ = ctx.Err() }},
	} {
		b.Run(part.name, func(b *testing.B) {
			for b.Loop() {
				part.do()
			}
		})
	}
}
