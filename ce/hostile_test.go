package ce_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

var allToAllCall = symmem.Record{Op: symmem.OpAllToAll, Engine: symmem.EngineCE, EltSize: 1}

// TestForgedCounts: counts that cannot be are told, whichever they are; nobody
// waits for ever, and nobody touches what is not its own.
func TestForgedCounts(t *testing.T) {
	for what, forge := range map[string]func(*ce.Stream){
		"complete far ahead":        func(s *ce.Stream) { s.ForgeComplete(0, 1000) },
		"complete absurd":           func(s *ce.Stream) { s.ForgeComplete(0, math.MaxUint64) },
		"credit for what none sent": func(s *ce.Stream) { s.ForgeCredit(0, 1<<40) },
		"credit absurd":             func(s *ce.Stream) { s.ForgeCredit(0, math.MaxUint64) },
		"ready of a later call":     func(s *ce.Stream) { s.ForgeReady(0, [8]uint64{7: s.Tag(2, allToAllCall)}) },
		"ready of another call":     func(s *ce.Stream) { s.ForgeReady(0, [8]uint64{7: s.Tag(1, symmem.Record{Op: symmem.OpViews})}) },
	} {
		t.Run(what, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, w *symmem.World) error {
				s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
				if err != nil {
					return err
				}
				exchange := func(size int) error {
					parts := make([]ce.Part, 2)
					for r := range parts {
						parts[r] = ce.Part{Src: make([]byte, size), Dst: make([]byte, size)}
					}
					return s.Exchange(ctx, allToAllCall, parts, false, nil)
				}
				if err := exchange(100); err != nil {
					return err
				}
				if err := w.Team().Barrier(ctx); err != nil {
					return err
				}
				if w.Rank() == 1 {
					forge(s)
				}
				if err := w.Team().Barrier(ctx); err != nil {
					return err
				}
				if w.Rank() == 1 {
					if err := w.Team().Barrier(ctx); !errors.Is(err, symmem.ErrAborted) && !errors.Is(err, symmem.ErrMismatch) {
						return fmt.Errorf("rank 1: %v", err)
					}
					return nil
				}
				if err := exchange(100_000); !errors.Is(err, symmem.ErrRegion) && !errors.Is(err, symmem.ErrMismatch) {
					return fmt.Errorf("rank 0: %v", err)
				}
				return nil
			})
		})
	}
}

// TestForgedLines: whatever stands in a ready line with the right tag, the
// operation ends, with an error or with wrong data, and touches nothing outside
// the windows (it would fault, or be seen by the race detector).
func TestForgedLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	values := []uint64{0, 1, 63, 64, 100, 4096, 1 << 20, 16<<20 - 1, 16 << 20, 16<<20 + 1, 1 << 40, 1 << 63, math.MaxUint64, math.MaxUint64 - 99}
	for range 150 {
		var words [8]uint64
		for i := range words {
			words[i] = values[rng.IntN(len(values))]
		}
		words[4] = values[rng.IntN(4)] // how, mostly a legal one
		if rng.IntN(2) == 0 {
			words[1], words[3] = 100, 100 // lengths that agree
		}
		err := symmem.Run(t.Context(), 2, func(ctx context.Context, w *symmem.World) error {
			s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{Staging: 64 << 10})
			if err != nil {
				return err
			}
			if w.Rank() == 1 {
				words[7] = s.Tag(1, allToAllCall)
				s.ForgeComplete(0, 1)
				s.ForgeReady(0, words)
				return w.Team().Barrier(ctx) // comes true only by a mistake of this test
			}
			parts := make([]ce.Part, 2)
			for r := range parts {
				parts[r] = ce.Part{Src: make([]byte, 100), Dst: make([]byte, 100)}
			}
			if err := s.Exchange(ctx, allToAllCall, parts, false, nil); err != nil {
				return err
			}
			return w.Team().Barrier(ctx)
		})
		_ = err // any error is right; a panic, a fault or a hang is not
	}
}

// TestPanicIsTheOperationsError: a Folder that panics fails its operation, the peers
// are told, and other teams live.
func TestPanicIsTheOperationsError(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		twin, err := w.Team().Split(ctx, 0, 0)
		if err != nil {
			return err
		}
		call := symmem.Record{Op: symmem.OpReduceScatter, Engine: symmem.EngineCE, EltSize: 8}
		s, err := ce.OpenFor(ctx, twin, call, ce.Options{})
		if err != nil {
			return err
		}
		var f ce.Folder = &hash{out: make([]byte, 64)}
		if w.Rank() == 0 {
			f = bomb{}
		}
		parts := make([]ce.Part, 2)
		for r := range parts {
			parts[r] = ce.Part{Src: make([]byte, 64)}
		}
		err = s.Fold(ctx, call, parts, 64, false, f)
		var panicked *ce.PanicError
		switch {
		case w.Rank() == 0 && (!errors.As(err, &panicked) || panicked.Value != "bomb"):
			return fmt.Errorf("rank 0: %v", err)
		case w.Rank() == 1 && err == nil: // it had all it needed before
			if err := twin.Barrier(ctx); !errors.Is(err, symmem.ErrAborted) {
				return fmt.Errorf("rank 1, behind it: %v", err)
			}
		case w.Rank() == 1 && !errors.Is(err, symmem.ErrAborted):
			return fmt.Errorf("rank 1: %v", err)
		}
		return w.Team().Barrier(ctx)
	})
}

type bomb struct{}

func (bomb) Fold(int, [][]byte) { panic("bomb") }

// TestNoRoomForStagingIsAgreed: one rank's window is full when staging is first
// needed. All get the same error, as often as they try, also in operations that
// do not vote; what needs no staging goes on; and once there is room, all is well.
func TestNoRoomForStagingIsAgreed(t *testing.T) {
	for _, votes := range []bool{false, true} {
		texts := make([]string, 3)
		run(t, 3, func(ctx context.Context, w *symmem.World) error {
			s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{Staging: 2 << 20})
			if err != nil {
				return err
			}
			var hog *window.Scratch
			if w.Rank() == 1 {
				if hog, err = window.TakeScratch(w, 15<<20); err != nil {
					return err
				}
			}
			for round := range 20 {
				err := s.Exchange(ctx, allToAllCall, partsFor(w, round, 5000), votes, nil)
				var e *symmem.NoSpaceError
				if !errors.As(err, &e) || e.Rank != 1 || e.Need < 2<<20-3*64 {
					return fmt.Errorf("rank %d: %v", w.Rank(), err)
				}
				texts[w.Rank()] = err.Error()
				if err := s.Run(ctx, new(ce.Batch)); err != nil {
					return err
				}
			}
			if hog != nil {
				if err := hog.Give(); err != nil {
					return err
				}
			}
			for round := range 5 {
				parts := partsFor(w, round, 5000)
				if err := s.Exchange(ctx, allToAllCall, parts, votes, nil); err != nil {
					return err
				}
				for r := range parts {
					if string(parts[r].Dst) != string(message(5000, round, r, w.Rank())) {
						return fmt.Errorf("round %d: wrong bytes from %d", round, r)
					}
				}
			}
			return s.Close(ctx)
		})
		require.Equal(t, texts[0], texts[1])
		require.Equal(t, texts[0], texts[2])
	}
}

func partsFor(w *symmem.World, round, size int) []ce.Part {
	parts := make([]ce.Part, w.Size())
	for r := range parts {
		parts[r] = ce.Part{Src: message(size, round, w.Rank(), r), Dst: make([]byte, size)}
	}
	return parts
}

// TestBadExchangesAreLocal: nothing is stored, nobody else notices.
func TestBadExchangesAreLocal(t *testing.T) {
	badExchanges(t, false)
	badExchanges(t, true)
}

func badExchanges(t *testing.T, pairs bool) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
		if err != nil {
			return err
		}
		if pairs {
			s.ShareEdges()
		}
		if w.Rank() == 0 {
			own := func(src, dst int) []ce.Part {
				return []ce.Part{{Src: make([]byte, src), Dst: make([]byte, dst)}, {}}
			}
			done, cancel := context.WithCancel(ctx)
			cancel()
			for what, err := range map[string]error{
				"no parts":          s.Exchange(ctx, allToAllCall, nil, false, nil),
				"too many":          s.Exchange(ctx, allToAllCall, make([]ce.Part, 3), false, nil),
				"own lengths":       s.Exchange(ctx, allToAllCall, own(3, 4), false, nil),
				"refusal, no votes": s.Exchange(ctx, allToAllCall, own(4, 4), false, &ce.Refusal{Need: 2, Have: 1}),
				"fold no parts":     s.Fold(ctx, allToAllCall, nil, 0, false, bomb{}),
				"fold own length":   s.Fold(ctx, allToAllCall, own(8, 0), 16, false, bomb{}),
				"fold negative":     s.Fold(ctx, allToAllCall, own(8, 0), -8, false, bomb{}),
				"fold with Dst":     s.Fold(ctx, allToAllCall, own(8, 8), 8, false, bomb{}),
				"fold of nothing":   s.Fold(ctx, allToAllCall, own(8, 0), 8, false, nil),
				"fold half element": s.Fold(ctx, symmem.Record{EltSize: 8}, own(12, 0), 12, false, bomb{}),
				"fold huge element": s.Fold(ctx, symmem.Record{EltSize: 65}, own(65, 0), 65, false, bomb{}),
			} {
				if !errors.Is(err, symmem.ErrUsage) {
					return fmt.Errorf("%s: %v", what, err)
				}
			}
			if err := s.Exchange(done, allToAllCall, own(4, 4), false, nil); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("cancelled: %v", err)
			}
		}
		for _, o := range []ce.Options{{Workers: -1}, {StepLarge: -1}, {StepBytes: -1}} {
			if _, err := ce.Open(ctx, w.Team(), o); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("%+v: %v", o, err)
			}
		}
		parts := partsFor(w, 1, 777)
		if err := s.Exchange(ctx, allToAllCall, parts, false, nil); err != nil {
			return err
		}
		if string(parts[1-w.Rank()].Dst) != string(message(777, 1, 1-w.Rank(), w.Rank())) {
			return errors.New("wrong bytes after bad calls")
		}
		return s.Close(ctx)
	})
}

// TestRunAgainstExchange: on a stream with an order of its own, too, whoever calls
// something else is found, and both calls are shown.
func TestRunAgainstExchange(t *testing.T) {
	errs := make([]error, 3)
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		_, s, err := openOnTwin(ctx, w)
		if err != nil {
			return err
		}
		for range 100 { // more than the records that are kept
			if err := s.Run(ctx, new(ce.Batch)); err != nil {
				return err
			}
		}
		if w.Rank() == 1 {
			errs[1] = s.Exchange(ctx, allToAllCall, partsFor(w, 0, 10), false, nil)
		} else {
			errs[w.Rank()] = s.Run(ctx, new(ce.Batch))
		}
		return w.Team().Barrier(ctx)
	})
	for r, err := range errs {
		require.ErrorIs(t, err, symmem.ErrMismatch, "rank %d", r)
		require.ErrorContains(t, err, "batch #101", "rank %d", r)
		require.ErrorContains(t, err, "alltoall #101", "rank %d", r)
	}
}

// TestDifferentCallsAreShown: another operation, size or order on one rank, with
// both calls in the error, on every rank.
func TestDifferentCallsAreShown(t *testing.T) {
	type exchange struct {
		call symmem.Record
		size int
	}
	for what, calls := range map[string][2]exchange{
		"operation": {{allToAllCall, 100}, {symmem.Record{Op: symmem.OpAllToAllv, Engine: symmem.EngineCE}, 100}},
		"count":     {{symmem.Record{Op: symmem.OpAllToAll, Count: 5}, 100}, {symmem.Record{Op: symmem.OpAllToAll, Count: 6}, 100}},
		"root":      {{symmem.Record{Op: symmem.OpAllToAll, Root: 1}, 100}, {symmem.Record{Op: symmem.OpAllToAll, Root: 0}, 100}},
		"size":      {{allToAllCall, 100}, {allToAllCall, 200}},
		"less":      {{allToAllCall, 30_000}, {allToAllCall, 100}},
	} {
		t.Run(what, func(t *testing.T) {
			var errs [2]error
			check := func() {
				for r, err := range errs {
					require.ErrorIs(t, err, symmem.ErrMismatch, "rank %d", r)
				}
				for _, c := range calls {
					if what != "size" && what != "less" {
						require.Contains(t, errs[0].Error()+errs[1].Error(), c.call.Op.String())
					}
				}
			}
			run(t, 2, func(ctx context.Context, w *symmem.World) error {
				s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
				if err != nil {
					return err
				}
				c := calls[w.Rank()]
				errs[w.Rank()] = s.Exchange(ctx, c.call, partsFor(w, 0, c.size), false, nil)
				return nil
			})
			check()
			withPairs(t, 30_000, func(ctx context.Context, w *symmem.World, s *ce.Stream, win *window.Window[byte]) error {
				c := calls[w.Rank()]
				errs[w.Rank()] = s.Exchange(ctx, c.call, partsInto(win, w, 0, c.size), false, nil)
				return nil
			})
			check()
		})
	}
}
