package lla2a_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

func TestMain(m *testing.M) {
	ranktest.Main(m, map[string]ranktest.Scenario{
		"session": joined(func(ctx context.Context, w *symmem.World) error {
			if err := program[uint64](ctx, w, 11, 0, 80); err != nil {
				return err
			}
			return program[[100]byte](ctx, w, 12, lla2a.Lap-9, 24)
		}),
		"blocks in slots":  joined(func(ctx context.Context, w *symmem.World) error { return blocks(ctx, w, 13, lla2a.Lap-40, 120) }),
		"blocks in common": joined(func(ctx context.Context, w *symmem.World) error { return blocks(ctx, w, 14, lla2a.Lap-40, 120) }),
		"ahead":            joined(func(ctx context.Context, w *symmem.World) error { return ahead(ctx, w, 60, nil) }),
		"twins":            joined(twins),
		"long":             joined(func(ctx context.Context, w *symmem.World) error { return long(ctx, w, 100_000) }),
	})
}

func joined(f func(context.Context, *symmem.World) error) ranktest.Scenario {
	return func(ctx context.Context) error {
		w, err := symmem.Join(ctx)
		if err != nil {
			return err
		}
		return errors.Join(f(ctx, w), w.Close())
	}
}

// run runs f as n ranks of this process. The deadline is a watchdog.
func run(t *testing.T, n int, f func(context.Context, *symmem.World) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	require.NoError(t, symmem.Run(ctx, n, f))
}

var worlds = []int{1, 2, 3, 5, 8, 16}

// TestAnyPattern plays changing patterns with elements of every shape: less than
// a word, a word, words and a rest.
func TestAnyPattern(t *testing.T) {
	programs := map[string]func(context.Context, *symmem.World, uint64, uint64, int) error{
		"1 byte": program[uint8], "8 bytes": program[uint64], "12 bytes": program[[12]byte], "16 bytes": program[[2]uint64],
		"24 bytes": program[struct {
			A uint32
			B [20]byte
		}],
		"100 bytes": program[[100]byte],
	}
	for _, n := range worlds {
		for name, play := range programs {
			t.Run(fmt.Sprint(n, " ranks ", name), func(t *testing.T) {
				run(t, n, func(ctx context.Context, w *symmem.World) error { return play(ctx, w, uint64(n), 0, 30) })
			})
		}
	}
}

// TestThroughTheWrap begins just under the end of a lap of tags, and of the
// second one, with the lap's first lines still lying about.
func TestThroughTheWrap(t *testing.T) {
	for _, n := range worlds {
		for kind := range changing + 1 {
			t.Run(fmt.Sprint(n, " ranks ", kindNames[kind]), func(t *testing.T) {
				run(t, n, func(ctx context.Context, w *symmem.World) error {
					for before := range uint64(3) {
						if err := play[uint64](ctx, w, kind, before, lla2a.Lap-1-before, 8); err != nil {
							return err
						}
					}
					return play[[12]byte](ctx, w, kind, 9, 2*lla2a.Lap-4, 10)
				})
			})
		}
	}
}

// TestNothingOfTheLapBefore: a slot that was last written a lap ago, under the
// tag that the present epoch has again, is empty.
func TestNothingOfTheLapBefore(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		small, err := lla2a.Open[uint64](ctx, w.Team(), 2)
		if err != nil {
			return err
		}
		large, err := lla2a.Open[[100]byte](ctx, w.Team(), 2)
		if err != nil {
			return err
		}
		if err := errors.Join(startAt(ctx, w.Team(), small, lla2a.Lap-1), startAt(ctx, w.Team(), large, lla2a.Lap-1)); err != nil {
			return err
		}
		for range 3 {
			if err := errors.Join(small.EndEpoch(ctx), large.EndEpoch(ctx), w.Team().Barrier(ctx)); err != nil {
				return err
			}
			for from := range 3 {
				for slot := range 2 {
					short, cancel := context.WithTimeout(ctx, 50*time.Microsecond)
					a, errSmall := small.Recv(short, from, slot)
					b, errLarge := large.Recv(short, from, slot)
					cancel()
					if !errors.Is(errSmall, symmem.ErrTimeout) || !errors.Is(errLarge, symmem.ErrTimeout) || a != 0 || b != [100]byte{} {
						return fmt.Errorf("received %x, %v; %x, %v in a slot that nobody has sent", a, errSmall, b, errLarge)
					}
				}
			}
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
		}
		return errors.Join(small.Close(ctx), large.Close(ctx))
	})
}

// TestDenseTrafficReadsNoHeader: whoever hears from all in every epoch knows that
// it may send. Who hears from nobody has to look.
func TestDenseTrafficReadsNoHeader(t *testing.T) {
	for _, kind := range []int{dense, casts} {
		run(t, 5, func(ctx context.Context, w *symmem.World) error { return play[uint64](ctx, w, kind, 1, 0, 50) })
	}
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[uint64](ctx, w.Team(), 1)
		if err != nil {
			return err
		}
		for i := range uint64(10) {
			if w.Rank() == 0 {
				if err := s.Send(ctx, 1, 0, i); err != nil {
					return err
				}
			}
			if err := s.EndEpoch(ctx); err != nil {
				return err
			}
		}
		if looks := s.Looks(); w.Rank() == 0 && looks == 0 || w.Rank() == 1 && looks > 0 {
			return fmt.Errorf("rank %d looked at %d headers", w.Rank(), looks)
		}
		return s.Close(ctx)
	})
}

// TestReduceInTheOrderOfRanks: sums of float32 in a float64, and a fold that
// depends on the order.
func TestReduceInTheOrderOfRanks(t *testing.T) {
	for _, n := range worlds {
		run(t, n, func(ctx context.Context, w *symmem.World) error {
			s, err := lla2a.Open[float32](ctx, w.Team(), 2)
			if err != nil {
				return err
			}
			element := func(from, slot int) float32 { return float32(math.Pow(-7, float64(from))) / float32(3+slot) }
			for slot := range 2 {
				if err := s.Bcast(ctx, slot, element(w.Rank(), slot)); err != nil {
					return err
				}
			}
			for slot := range 2 {
				want, order := 0.5, ""
				for from := range n {
					want += float64(element(from, slot))
					order += fmt.Sprint(element(from, slot), " ")
				}
				sum, err := lla2a.RecvReduce(ctx, s, slot, 0.5, func(sum float64, v float32) float64 { return sum + float64(v) })
				if err != nil || sum != want {
					return fmt.Errorf("%v instead of %v: %w", sum, want, err)
				}
				got, err := lla2a.RecvReduce(ctx, s, slot, "", func(acc string, v float32) string { return acc + fmt.Sprint(v, " ") })
				if err != nil || got != order {
					return fmt.Errorf("%q instead of %q: %w", got, order, err)
				}
			}
			if err := s.EndEpoch(ctx); err != nil {
				return err
			}
			return s.Close(ctx)
		})
	}
}

func TestFarAhead(t *testing.T) {
	for _, n := range []int{2, 3, 8} {
		ended := make([]atomic.Uint64, n)
		run(t, n, func(ctx context.Context, w *symmem.World) error { return ahead(ctx, w, 40, ended) })
	}
}

func TestBetweenProcesses(t *testing.T) {
	for _, n := range worlds {
		t.Run(fmt.Sprint(n), func(t *testing.T) { ranktest.Start(t, n, "session").Wait() })
	}
	ranktest.Start(t, 3, "ahead").Wait()
	ranktest.Start(t, 3, "twins").Wait()
}

// twins uses two sessions on two teams of the same ranks, and one more on each,
// from a goroutine each; all of them come to the end of a lap.
func twins(ctx context.Context, w *symmem.World) error {
	twin, err := w.Team().Split(ctx, 0, w.Size()-w.Rank())
	if err != nil {
		return err
	}
	type session struct {
		*lla2a.Session[[12]byte]
		team *symmem.Team
	}
	var sessions []session
	for i := range 4 {
		team := w.Team()
		if i%2 == 1 {
			team = twin
		}
		s, err := lla2a.Open[[12]byte](ctx, team, 2)
		if err != nil {
			return err
		}
		if err := startAt(ctx, team, s, lla2a.Lap-20); err != nil {
			return err
		}
		sessions = append(sessions, session{s, team})
	}
	errs := make(chan error, len(sessions))
	for which, s := range sessions {
		go func() {
			errs <- func() error {
				for range 40 {
					i, n, me := s.Epoch(), s.team.Size(), s.team.Rank()
					for k := range n {
						if err := s.Send(ctx, (me+k)%n, 1, value[[12]byte](i, me, which, k)); err != nil {
							return err
						}
					}
					for k := range n {
						from := (me - k + n) % n
						v, err := s.Recv(ctx, from, 1)
						if err != nil {
							return err
						}
						if v != value[[12]byte](i, from, which, k) {
							return fmt.Errorf("session %d, epoch %d: wrong value from %d", which, i, from)
						}
					}
					if err := s.EndEpoch(ctx); err != nil {
						return fmt.Errorf("session %d, epoch %d: %w", which, i, err)
					}
				}
				return nil
			}()
		}()
	}
	for range sessions {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return err
	}
	for _, s := range sessions {
		err = errors.Join(err, s.Close(ctx))
	}
	return err
}

func TestSessionsSideBySide(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		run(t, n, twins)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	t.Run("1 byte", allocatesNothing[int8])
	t.Run("8 bytes", allocatesNothing[float64])
	t.Run("24 bytes", allocatesNothing[[3]uint64])
	t.Run("4 KiB", allocatesNothing[[4096]byte])
}

func allocatesNothing[T any](t *testing.T) {
	var allocs float64
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[T](ctx, w.Team(), 2)
		if err != nil {
			return err
		}
		must := func(err error) {
			if err != nil {
				panic(err)
			}
		}
		var v T
		all := make([]T, 2)
		ctx = context.WithoutCancel(ctx) // a wait that parks for long allocates what rings at its context's end
		once := func() {
			must(s.Bcast(ctx, 0, v))
			must(s.Send(ctx, 1-w.Rank(), 1, v))
			for from := range 2 {
				_, err := s.Recv(ctx, from, 0)
				must(err)
			}
			_, err := s.Recv(ctx, 1-w.Rank(), 1)
			must(err)
			must(s.RecvAll(ctx, 0, all))
			sum, err := lla2a.RecvReduce(ctx, s, 0, 0, func(sum int, _ T) int { return sum + 1 })
			must(err)
			if sum != 2 {
				panic(sum)
			}
			must(s.EndEpoch(ctx))
		}
		if w.Rank() == 0 {
			allocs = testing.AllocsPerRun(300, once)
		} else {
			for range 301 {
				once()
			}
		}
		return s.Close(ctx)
	})
	require.Zero(t, allocs)
}

// Two senders share a cache line only where their elements are as small as a tag.
func TestSendersShareNoLine(t *testing.T) {
	for size := 9; size <= 200; size++ {
		for perPeer := 1; perPeer <= 9; perPeer++ {
			require.Zero(t, lla2a.SenderBytes(size, perPeer)%64, "%d elements of %d bytes", perPeer, size)
			pitch := lla2a.SenderBytes(size, perPeer) / perPeer
			require.GreaterOrEqual(t, pitch, size+8)
			for at := 0; at < perPeer*pitch; at += pitch {
				require.Equal(t, (size+8+63)/64, (at+pitch+63)/64-at/64, "lines that element %d of %d bytes touches", at/pitch, size)
			}
		}
	}
}

// Who waits for one sender again and again, and sends nothing, stands back.
func TestAReceiverAbreastOfItsSenderStandsBack(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[int64](ctx, w.Team(), 16)
		if err != nil {
			return err
		}
		for k := range 5 { // for what nobody sends
			if s.Stood() {
				return fmt.Errorf("at receive %d", k)
			}
			if _, err := s.Recv(ranktest.Inside(ctx, context.DeadlineExceeded), 1-w.Rank(), k); err == nil {
				return errors.New("nobody has sent that")
			}
		}
		if !s.Stood() {
			return errors.New("not at the fifth receive")
		}
		return s.Close(ctx)
	})
}
