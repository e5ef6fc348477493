package ce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// withPairs is run where two ranks, as if each had a CPU, have opened a stream, and a
// window that has room for what comes and for what is shown.
func withPairs(t *testing.T, size int, f func(ctx context.Context, w *symmem.World, s *ce.Stream, win *window.Window[byte]) error) {
	t.Helper()
	withStreams(t, 2, func(ctx context.Context, w *symmem.World, s *ce.Stream) error {
		s.ShareEdges()
		win, err := window.Alloc[byte](ctx, w, 4*size)
		if err != nil {
			return err
		}
		return f(ctx, w, s, win)
	})
}

// partsInto is partsFor into the own window.
func partsInto(win *window.Window[byte], w *symmem.World, round, size int) []ce.Part {
	parts := partsFor(w, round, size)
	for r := range parts {
		parts[r].Dst = win.Local()[r*size:][:size]
	}
	return parts
}

// TestWhoHasSentWaitsForTheOther: it names it when its time is over, and has what it
// sends if the other only was late.
func TestWhoHasSentWaitsForTheOther(t *testing.T) {
	const size = 20_000
	withPairs(t, size, func(ctx context.Context, w *symmem.World, s *ce.Stream, win *window.Window[byte]) error {
		me := w.Rank()
		for round := range 2 {
			parts := partsInto(win, w, round, size)
			if me == 1 { // its line is there, its copy is not
				_, err := s.MissingBehind(ctx, allToAllCall, parts, func(func() bool) {
					for start := s.Received(0); s.Came(0) == start; {
						time.Sleep(time.Millisecond)
					}
					for round == 1 && !w.Team().Ended() {
						time.Sleep(time.Millisecond)
					}
				}, nothing)
				if round == 1 {
					return nil // it had all it wanted when rank 0 gave up
				}
				if err != nil {
					return err
				}
			} else {
				ctx, cancel := ctx, func() {}
				if round == 1 {
					ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
				}
				err := s.Exchange(ctx, allToAllCall, parts, false, nil)
				cancel()
				if round == 1 {
					var late *symmem.TimeoutError
					if !errors.As(err, &late) || !slices.Equal(late.Missing, []int{1}) {
						return fmt.Errorf("rank 0: %v", err)
					}
					return nil
				}
				if err != nil {
					return err
				}
			}
			if !bytes.Equal(parts[1-me].Dst, message(size, round, 1-me, me)) {
				return fmt.Errorf("round %d: rank %d has wrong bytes", round, me)
			}
		}
		return nil
	})
}

// TestAPairRemembersWhatIsNotWritten, of the exchanges that are as long and go as many
// ways, until one of them is.
func TestAPairRemembersWhatIsNotWritten(t *testing.T) {
	const size = 32 << 10
	type sides [2]bool // of rank 0 and rank 1
	var none, both = sides{}, sides{true, true}
	withPairs(t, size, func(ctx context.Context, w *symmem.World, s *ce.Stream, win *window.Window[byte]) error {
		me := w.Rank()
		for round, e := range []struct {
			what         string
			sends        sides
			shown        bool // the sources lie in windows
			placed       sides
			size         int
			astray, then [2]bool // before and behind it
		}{
			{"all-to-all into windows", both, false, both, size, [2]bool{}, [2]bool{}},
			{"broadcast out of a window", sides{true, false}, true, both, size, [2]bool{}, [2]bool{false, true}},
			{"again", sides{true, false}, true, both, size, [2]bool{false, true}, [2]bool{false, true}},
			{"a short one", sides{true, false}, true, both, 8 << 10, [2]bool{false, true}, [2]bool{false, true}},
			{"all-to-all into windows", both, true, both, size, [2]bool{false, true}, [2]bool{false, true}},
			{"all-to-all into one window", both, false, sides{true, false}, size, [2]bool{false, true}, [2]bool{true, true}},
			{"out of private memory", sides{true, false}, false, both, size, [2]bool{true, true}, [2]bool{true, false}},
			{"all-to-all into private memory", both, false, none, size, [2]bool{true, false}, [2]bool{true, false}},
			{"all-to-all into windows", both, false, both, size, [2]bool{true, false}, [2]bool{}},
			{"nothing", none, false, both, size, [2]bool{}, [2]bool{}},
		} {
			if got := s.Astray(); got != e.astray {
				return fmt.Errorf("before %s (%d): %v", e.what, round, got)
			}
			parts := make([]ce.Part, 2)
			for r := range parts {
				dst := make([]byte, size)
				if e.placed[me] {
					dst = win.Local()[r*size:][:size]
					clear(dst)
				}
				if e.sends[me] {
					parts[r].Src = message(e.size, round, me, r)
					if e.shown {
						parts[r].Src = win.Local()[(2+r)*size:][:copy(win.Local()[(2+r)*size:], parts[r].Src)]
					}
				}
				if e.sends[r] {
					parts[r].Dst = dst[:e.size]
				}
			}
			if err := s.Exchange(ctx, allToAllCall, parts, false, nil); err != nil {
				return fmt.Errorf("%s (%d): %w", e.what, round, err)
			}
			for r := range parts {
				if e.sends[r] && !bytes.Equal(parts[r].Dst, message(e.size, round, r, me)) {
					return fmt.Errorf("%s (%d): wrong bytes from %d", e.what, round, r)
				}
			}
			if got := s.Astray(); got != e.then {
				return fmt.Errorf("behind %s (%d): %v", e.what, round, got)
			}
		}
		return nil
	})
}

// TestAPlaceOutsideTheWindow is told.
func TestAPlaceOutsideTheWindow(t *testing.T) {
	const size = 10_000
	withPairs(t, size, func(ctx context.Context, w *symmem.World, s *ce.Stream, win *window.Window[byte]) error {
		if w.Rank() == 1 {
			s.ForgeReady(0, [8]uint64{0: 1 << 40, 1: size, 3: size, 7: s.Tag(1, allToAllCall)})
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		if w.Rank() == 1 {
			if err := w.Team().Barrier(ctx); !errors.Is(err, symmem.ErrAborted) {
				return fmt.Errorf("rank 1: %v", err)
			}
			return nil
		}
		if err := s.Exchange(ctx, allToAllCall, partsInto(win, w, 0, size), false, nil); !errors.Is(err, symmem.ErrRegion) {
			return fmt.Errorf("rank 0: %v", err)
		}
		return nil
	})
}

// TestAPairThatExpectsLess than is sent, in one of the two directions.
func TestAPairThatExpectsLess(t *testing.T) {
	const size = 10_000
	for one := range 2 {
		withPairs(t, size, func(ctx context.Context, w *symmem.World, s *ce.Stream, win *window.Window[byte]) error {
			parts := partsInto(win, w, 0, size)
			if w.Rank() == one {
				parts[1-one].Dst = parts[1-one].Dst[:100]
			}
			if err := s.Exchange(ctx, allToAllCall, parts, false, nil); !errors.Is(err, symmem.ErrMismatch) {
				return fmt.Errorf("rank %d: %v", w.Rank(), err)
			}
			return nil
		})
	}
}

// TestACountThatCannotBe is told while its peer waits for one that can.
func TestACountThatCannotBe(t *testing.T) {
	const size = 10_000
	withPairs(t, size, func(ctx context.Context, w *symmem.World, s *ce.Stream, win *window.Window[byte]) error {
		parts := partsInto(win, w, 0, size)
		if w.Rank() == 1 {
			_, err := s.MissingBehind(ctx, allToAllCall, parts, func(func() bool) {
				for s.Came(0) == s.Received(0) {
					time.Sleep(time.Millisecond)
				}
				s.ForgeComplete(0, s.Sent(0)+2)
				for !w.Team().Ended() {
					time.Sleep(time.Millisecond)
				}
			}, nothing)
			_ = err // it had all it wanted
			return nil
		}
		if err := s.Exchange(ctx, allToAllCall, parts, false, nil); !errors.Is(err, symmem.ErrRegion) {
			return fmt.Errorf("rank 0: %v", err)
		}
		return nil
	})
}

// TestAPartIsAskedForTwice where a pair turns out to be none, and no more than that
// where it is one.
func TestAPartIsAskedForTwice(t *testing.T) {
	const size = 10_000
	withPairs(t, size, func(ctx context.Context, w *symmem.World, s *ce.Stream, win *window.Window[byte]) error {
		for round := range 6 {
			parts, asked, none := partsInto(win, w, round, size), [2]int{}, round < 3
			if none && w.Rank() == 1 {
				parts = partsFor(w, round, size)
			}
			err := s.ExchangeEach(ctx, &allToAllCall, func(r int) ([]byte, []byte) {
				asked[r]++
				return parts[r].Src, parts[r].Dst
			})
			if err != nil {
				return err
			}
			if twice := asked == [2]int{2, 2}; !twice && (none || asked != [2]int{1, 1}) {
				return fmt.Errorf("round %d: asked for %v times", round, asked)
			}
			for r := range parts {
				if !bytes.Equal(parts[r].Dst, message(size, round, r, w.Rank())) {
					return fmt.Errorf("round %d: wrong bytes from %d", round, r)
				}
			}
		}
		return nil
	})
}
