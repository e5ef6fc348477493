//go:build !race

package symmem

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// What a peer may do to control words: any of them, at any time, to anything.
// Whoever reads them gets an error or wrong numbers, never a panic, a wait
// without end or an address outside the region. (Not under the race detector,
// which is right about what happens here.)

// scribbles reads a fuzzer's bytes as words to be written: where (3 bytes), how
// (1), what (8).
func scribbles(data []byte, control []byte, write func(word *uint64, value uint64)) {
	for ; len(data) >= 12; data = data[12:] {
		words := (len(control) - pageBytes) / 8 // the first page is never read again
		at := int(data[0]) | int(data[1])<<8 | int(data[2])<<16
		word := (*uint64)(unsafe.Pointer(&control[pageBytes+at%words*8]))
		value := binary.LittleEndian.Uint64(data[4:])
		switch data[3] % 4 {
		case 1:
			value = atomic.LoadUint64(word) + value
		case 2:
			value = atomic.LoadUint64(word) ^ value
		case 3:
			value = atomic.LoadUint64(word)&^0xffffffff | value&0xffffffff
		}
		write(word, value)
	}
}

// scribble makes one entry for the corpus: write value into the word at off.
func scribble(off uintptr, value uint64) []byte {
	at := (int(off) - pageBytes) / 8
	entry := []byte{byte(at), byte(at >> 8), byte(at >> 16), 0}
	return binary.LittleEndian.AppendUint64(entry, value)
}

// corpus hits each kind of word once with the values that hurt most.
func corpus(f *testing.F) {
	start := func(rank int) uintptr { return uintptr(blocksOff + int64(rank)*blockBytes) }
	var b block
	var p place
	var c commons
	team := unsafe.Offsetof(b.teams)
	for _, off := range []uintptr{
		pageBytes + unsafe.Offsetof(c.abort), pageBytes + unsafe.Offsetof(c.joined), pageBytes + unsafe.Offsetof(c.launcher),
		start(2) + unsafe.Offsetof(b.life), start(2) + unsafe.Offsetof(b.bell), start(2) + unsafe.Offsetof(b.who),
		start(2) + unsafe.Offsetof(b.who) + unsafe.Offsetof(b.who.latest)&^7, start(2) + unsafe.Offsetof(b.notice),
		start(2) + unsafe.Offsetof(b.waits), start(2) + unsafe.Offsetof(b.waits) + 8, start(2) + unsafe.Offsetof(b.ring), start(2) + unsafe.Offsetof(b.ring) + 8,
		start(0) + team + unsafe.Offsetof(p.revoked), start(2) + team + unsafe.Offsetof(p.arrived), start(2) + team + unsafe.Offsetof(p.posted),
		start(0) + team + unsafe.Offsetof(p.count), start(2) + team + unsafe.Offsetof(p.call) + 8, start(2) + team + unsafe.Offsetof(p.post),
		start(2) + team + unsafe.Offsetof(p.post) + 24, start(2) + team + unsafe.Offsetof(p.post) + 64 + 24,
		start(1) + team + unsafe.Sizeof(p) + unsafe.Offsetof(p.arrived), start(1) + team + unsafe.Sizeof(p) + unsafe.Offsetof(p.revoked),
	} {
		for _, value := range []uint64{0, 1, 3, 1 << 31, 1 << 32, 1 << 62, 1<<63 - 1, 1 << 63, ^uint64(0)} {
			f.Add(scribble(off, value), uint8(off))
		}
	}
}

// FuzzLook: whoever looks at a region of garbage, a tool or a rank that fails,
// comes to an end and has something to say.
func FuzzLook(f *testing.F) {
	corpus(f)
	f.Fuzz(func(t *testing.T, data []byte, fill uint8) {
		r := heapRegion("fuzz", Geometry{Size: 3, Window: hugeBytes})
		for i := pageBytes; i < len(r.control) && fill != 0; i += 1 + int(fill) {
			r.control[i] = byte(i * int(fill))
		}
		scribbles(data, r.control, func(word *uint64, value uint64) { *word = value })
		s := r.observe()
		require.Len(t, s.Ranks, 3)
		for _, st := range s.Ranks {
			require.LessOrEqual(t, len(st.Records), 2*ringRecords)
			for _, rec := range st.Records {
				require.NotEmpty(t, rec.String())
			}
			for _, w := range st.Waits {
				require.LessOrEqual(t, len(w.Missing), 3)
			}
		}
		if a, ok := r.aborted(); ok {
			require.NotEmpty(t, a.err(r.dead()).Error())
		}
		w := newWorld(Options{Report: func(string) {}}, r)
		x := &Watch{team: w.team, cond: &missing{{1, 2}}, place: -1}
		require.NotEmpty(t, x.late(time.Second, nil).Error())
		require.NotEmpty(t, x.lateText(time.Second))
		if err := w.team.revocation(); err != nil {
			require.NotEmpty(t, err.Error())
		}
		if err := w.team.lane.mismatch(true); err != nil {
			require.NotEmpty(t, err.Error())
		}
		_ = w.team.lane.earlier()
		w.policy()
	})
}

// FuzzControl: while three ranks make barriers and teams, a fourth party writes.
func FuzzControl(f *testing.F) {
	corpus(f)
	f.Fuzz(func(t *testing.T, data []byte, pace uint8) {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		o := Options{Size: 3, Window: MinWindow, Stall: 2 * time.Millisecond, StallReport: time.Millisecond, Report: func(string) {}}
		var control atomic.Pointer[[]byte]
		var step, written atomic.Int64
		err := RunWith(ctx, o, func(ctx context.Context, w *World) error {
			control.CompareAndSwap(nil, &w.r.control)
			for turn := range 6 {
				if w.rank == 2 { // a peer that writes where it likes
					n := min(int(written.Load())+12*(1+int(pace%8)), len(data))
					scribbles(data[written.Load():n], w.r.control, atomic.StoreUint64)
					written.Store(int64(n))
				}
				step.Add(1)
				err := w.Team().Barrier(ctx)
				if err == nil && turn%2 == 1 {
					var sub *Team
					if sub, err = w.Team().Split(ctx, w.rank/2, w.rank); err == nil {
						if err = sub.Barrier(ctx); err == nil {
							err = sub.Close(ctx)
						}
					}
				}
				if err != nil {
					_ = err.Error()
					_ = fmt.Sprint(w.r.observe())
					_ = w.Team().Barrier(ctx)
					return err
				}
			}
			return nil
		})
		require.NoError(t, ctx.Err(), "it did not end")
		_ = err // an error, or wrong data
	})
}
