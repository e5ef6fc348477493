package ce_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

func TestMain(m *testing.M) {
	ce.KernelAtMost(math.Inf(1)) // what is tested does not depend on the processor
	ranktest.Main(m, scenarios)
}

var scenarios = map[string]ranktest.Scenario{
	"mixture": joined(func(ctx context.Context, w *symmem.World) error {
		return inWindow(ctx, w, func(win *window.Window[byte]) error {
			if err := mixture(ctx, w.Team(), win, 1, 10+60/w.Size(), ce.Options{}, false); err != nil {
				return err
			}
			return mixture(ctx, w.Team(), win, 2, 5+40/w.Size(), ce.Options{Staging: 1}, false)
		})
	}),
	"subteams": joined(subteams),
	"views":    joined(views),
	"signal":   joined(signalAfterBatch),
	"cancel":   joined(cancelled),
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

// openOnTwin opens a stream on a second team of all ranks, which may come to grief.
func openOnTwin(ctx context.Context, w *symmem.World) (*symmem.Team, *ce.Stream, error) {
	twin, err := w.Team().Split(ctx, 0, 0)
	if err != nil {
		return nil, nil, err
	}
	s, err := ce.Open(ctx, twin, ce.Options{})
	return twin, s, err
}

var worlds = func() []int {
	if raceEnabled { // each takes ten times as long
		return []int{1, 2, 3, 8}
	}
	return []int{1, 2, 3, 4, 5, 6, 7, 8, 16}
}()

// TestMixture: the ring of Staging 1 is four pieces of 1 KiB, less than a
// message.
func TestMixture(t *testing.T) {
	for _, n := range worlds {
		for _, staging := range []int64{0, 1, 64 << 10} {
			for _, spare := range []bool{false, true} {
				t.Run(fmt.Sprint(n, " ranks staging ", staging, " spare ", spare), func(t *testing.T) {
					run(t, n, func(ctx context.Context, w *symmem.World) error {
						return inWindow(ctx, w, func(win *window.Window[byte]) error {
							return mixture(ctx, w.Team(), win, uint64(n), 8+48/n, ce.Options{Staging: staging}, spare)
						})
					})
				})
			}
		}
	}
}

// TestMixtureOfPairs: many short ones, since a pair has a way of its own.
func TestMixtureOfPairs(t *testing.T) {
	for seed := range uint64(10) {
		run(t, 2, func(ctx context.Context, w *symmem.World) error {
			return inWindow(ctx, w, func(win *window.Window[byte]) error {
				return mixture(ctx, w.Team(), win, 100+seed, 40, ce.Options{}, true)
			})
		})
	}
}

func TestMixtureBetweenProcesses(t *testing.T) {
	for _, n := range worlds {
		t.Run(fmt.Sprint(n), func(t *testing.T) { ranktest.Start(t, n, "mixture").Wait() })
	}
}

// subteams: odd and even ranks have a stream each, in reverse order, and then
// all of them one beside it.
func subteams(ctx context.Context, w *symmem.World) error {
	return inWindow(ctx, w, func(win *window.Window[byte]) error {
		sub, err := w.Team().Split(ctx, w.Rank()%2, -w.Rank())
		if err != nil {
			return err
		}
		// Puts go to team ranks, into the windows of other world ranks.
		if err := mixture(ctx, sub, win, 7, 20, ce.Options{Staging: 1 << 20}, false); err != nil {
			return err
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		if err := mixture(ctx, w.Team(), win, 8, 10, ce.Options{Staging: 8 << 10}, false); err != nil {
			return err
		}
		return sub.Close(ctx)
	})
}

func TestSubTeams(t *testing.T) {
	for _, n := range []int{2, 5, 8} {
		run(t, n, subteams)
	}
	ranktest.Start(t, 5, "subteams").Wait()
}

func TestThousandsOfPuts(t *testing.T) {
	const puts = 5000
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		n, me := w.Size(), w.Rank()
		win, err := window.Alloc[uint32](ctx, w, n*puts)
		if err != nil {
			return err
		}
		s, err := ce.Open(ctx, w.Team(), ce.Options{})
		if err != nil {
			return err
		}
		value := func(round, from, to, i int) uint32 {
			return uint32(1+round)<<28 | uint32(from)<<24 | uint32(to)<<20 | uint32(i)
		}
		var b ce.Batch
		for round := range 3 {
			b.Reset()
			src := make([]uint32, 0, n*puts)
			for i := range puts {
				for to := range n {
					src = append(src, value(round, me, to, i))
					ce.Put(&b, to, win.At(me*puts+i, 1), src[len(src)-1:])
					ce.Put(&b, to, win.At(me*puts+i, 0), src[:0])
				}
			}
			if b.Len() != 2*n*puts {
				return fmt.Errorf("%d puts", b.Len())
			}
			if err := s.Run(ctx, &b); err != nil {
				return err
			}
			for from := range n {
				for i := range puts {
					if got := win.Local()[from*puts+i]; got != value(round, from, me, i) {
						return fmt.Errorf("round %d, rank %d, from %d, put %d: %x", round, me, from, i, got)
					}
				}
			}
		}
		return errors.Join(s.Close(ctx), win.Free(ctx))
	})
}

// TestBadBatchesAreLocal: one rank's batch is refused before anything is stored,
// the others wait meanwhile, and it runs a better one.
func TestBadBatchesAreLocal(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[uint64](ctx, w, 4)
		if err != nil {
			return err
		}
		gone, err := window.Alloc[uint64](ctx, w, 4)
		if err != nil {
			return err
		}
		if err := gone.Free(ctx); err != nil {
			return err
		}
		s, err := ce.Open(ctx, w.Team(), ce.Options{})
		if err != nil {
			return err
		}
		var good ce.Batch
		ce.Put(&good, 1-w.Rank(), win.At(0, 4), []uint64{1, 2, 3, 4})
		if w.Rank() == 0 {
			for what, bad := range map[string]func(*ce.Batch){
				"rank 2":      func(b *ce.Batch) { ce.Put(b, 2, win.At(0, 1), []uint64{9}) },
				"rank -1":     func(b *ce.Batch) { ce.Put(b, -1, win.At(0, 1), []uint64{9}) },
				"beyond":      func(b *ce.Batch) { ce.Put(b, 1, win.At(4, 1), []uint64{9}) },
				"overflow":    func(b *ce.Batch) { ce.Put(b, 1, win.At(math.MaxInt, math.MaxInt), []uint64{9}) },
				"before":      func(b *ce.Batch) { ce.Put(b, 1, win.At(-1, 1), []uint64{9}) },
				"too long":    func(b *ce.Batch) { ce.Put(b, 1, win.At(0, 1), []uint64{9, 9}) },
				"too short":   func(b *ce.Batch) { ce.Put(b, 1, win.At(0, 2), []uint64{9}) },
				"no place":    func(b *ce.Batch) { ce.Put(b, 1, window.Span{}, []uint64{}) },
				"freed place": func(b *ce.Batch) { ce.Put(b, 1, gone.At(0, 1), []uint64{9}) },
			} {
				var b ce.Batch
				ce.Put(&b, 1, win.At(0, 1), []uint64{9}) // would be right, and is not made either
				bad(&b)
				err := s.Run(ctx, &b)
				if what == "freed place" {
					if !errors.Is(err, window.ErrFreed) {
						return fmt.Errorf("%s: %v", what, err)
					}
				} else if !errors.Is(err, symmem.ErrUsage) {
					return fmt.Errorf("%s: %v", what, err)
				}
			}
			if got := win.Peer(1)[0]; got != 0 {
				return fmt.Errorf("a bad batch has put %d", got)
			}
		}
		if err := s.Run(ctx, &good); err != nil {
			return err
		}
		if got := win.Local(); got[0] != 1 || got[3] != 4 {
			return fmt.Errorf("after a better batch: %v", got)
		}
		return s.Close(ctx)
	})
}

// TestAPlaceInAnotherWorld is none in this one, although both have it at the same offset.
func TestAPlaceInAnotherWorld(t *testing.T) {
	run(t, 1, func(ctx context.Context, w *symmem.World) error {
		mine, err := window.Alloc[uint64](ctx, w, 4)
		if err != nil {
			return err
		}
		s, err := ce.Open(ctx, w.Team(), ce.Options{})
		if err != nil {
			return err
		}
		run(t, 1, func(ctx context.Context, other *symmem.World) error {
			theirs, err := window.Alloc[uint64](ctx, other, 4)
			if err != nil {
				return err
			}
			var b ce.Batch
			ce.Put(&b, 0, theirs.At(0, 1), []uint64{9})
			if err := s.Run(ctx, &b); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("run: %v", err)
			}
			if err := s.Start(&b).Wait(ctx); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("started: %v", err)
			}
			if mine.Local()[0] != 0 || theirs.Local()[0] != 0 {
				return errors.New("it was put")
			}
			return nil
		})
		return s.Close(ctx)
	})
}

func TestOpenOptions(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		if _, err := ce.Open(ctx, w.Team(), ce.Options{Staging: -1}); !errors.Is(err, symmem.ErrUsage) {
			return fmt.Errorf("negative staging: %v", err)
		}
		for _, staging := range []int64{1, 100, 5000, 64 << 10, 1 << 20, math.MaxInt64} {
			s, err := ce.Open(ctx, w.Team(), ce.Options{Staging: staging})
			if err != nil {
				return fmt.Errorf("staging %d: %w", staging, err)
			}
			if size := s.Share(); size%64 != 0 || size == 0 || int64(size) > max(staging, 4<<10) {
				return fmt.Errorf("staging %d: a share of %d", staging, size)
			}
			if err := s.Close(ctx); err != nil {
				return err
			}
		}
		_, err := ce.Open(ctx, w.Team(), ce.Options{Staging: int64(1+w.Rank()) << 16})
		if !errors.Is(err, symmem.ErrMismatch) {
			return fmt.Errorf("different rings: %v", err)
		}
		return nil
	})
}

func TestUseAfterClose(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		for range 20 { // more than a window holds at once
			s, err := ce.Open(ctx, w.Team(), ce.Options{Staging: 2 << 20})
			if err != nil {
				return err
			}
			if err := s.Run(ctx, new(ce.Batch)); err != nil {
				return err
			}
			if err := s.Close(ctx); err != nil {
				return err
			}
			if err := s.Close(ctx); err != nil {
				return fmt.Errorf("a second Close: %w", err)
			}
			if err := s.Run(ctx, new(ce.Batch)); !errors.Is(err, symmem.ErrClosed) {
				return fmt.Errorf("Run: %v", err)
			}
			if err := s.Exchange(ctx, symmem.Record{Op: symmem.OpAllToAll}, make([]ce.Part, 2), false, nil); !errors.Is(err, symmem.ErrClosed) {
				return fmt.Errorf("Exchange: %v", err)
			}
		}
		return nil
	})
}

// TestNobodyIsBelieved: what cannot be in a ready line is an error, not a store.
func TestNobodyIsBelieved(t *testing.T) {
	for what, c := range map[string]struct {
		place, length, how uint64
		want               error
	}{
		"beyond the window":  {16<<20 - 4, 8, ce.Direct, symmem.ErrRegion},
		"far beyond":         {1 << 62, 8, ce.Direct, symmem.ErrRegion},
		"overflow":           {math.MaxUint64 - 3, 8, ce.Direct, symmem.ErrRegion},
		"ring beyond":        {16<<20 - 4, 8, ce.Staged, symmem.ErrRegion},
		"ring overflow":      {math.MaxUint64 - 3, 8, ce.Staged, symmem.ErrRegion},
		"another length":     {0, 9, ce.Staged, symmem.ErrMismatch},
		"an absurd length":   {0, math.MaxUint64, ce.Direct, symmem.ErrMismatch},
		"length zero":        {0, 0, ce.Direct, symmem.ErrMismatch},
		"staged length zero": {0, 0, ce.Staged, symmem.ErrMismatch},
		"no such thing":      {0, 8, 77, symmem.ErrRegion},
	} {
		t.Run(what, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, w *symmem.World) error {
				s, err := ce.Open(ctx, w.Team(), ce.Options{})
				if err != nil {
					return err
				}
				call := symmem.Record{Op: symmem.OpAllToAll, Engine: symmem.EngineCE}
				if w.Rank() == 1 {
					s.PostReady(0, call, c.place, c.length, c.how)
					if err := w.Team().Barrier(ctx); !errors.Is(err, symmem.ErrAborted) || !errors.Is(err, c.want) {
						return fmt.Errorf("rank 1: %v", err)
					}
					return nil
				}
				parts := make([]ce.Part, 2)
				parts[1].Src = make([]byte, 8)
				if err := s.Exchange(ctx, call, parts, false, nil); !errors.Is(err, c.want) {
					return fmt.Errorf("rank 0: %v", err)
				}
				return nil
			})
		})
	}
}

// TestCancelRevokesTheTeam, and no other.
func TestCancelRevokesTheTeam(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		_, s, err := openOnTwin(ctx, w)
		if err != nil {
			return err
		}
		if w.Rank() == 0 {
			short := ranktest.Inside(ctx, context.DeadlineExceeded)
			if err := s.Run(short, new(ce.Batch)); !errors.Is(err, symmem.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("rank 0: %v", err)
			}
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		if err := s.Run(ctx, new(ce.Batch)); !errors.Is(err, symmem.ErrAborted) {
			return fmt.Errorf("on the revoked team: %v", err)
		}
		return w.Team().Barrier(ctx)
	})
}

// heldUp is a Folder that is held up in its first range.
type heldUp struct {
	once       sync.Once
	began, end chan struct{}
}

func (h *heldUp) Fold(int, [][]byte) {
	h.once.Do(func() {
		close(h.began)
		<-h.end
	})
}

// TestWhatWasNotSentIsNotFolded: a sender whose memory is being read gives up, or
// closes its world, and its program writes there again.
func TestWhatWasNotSentIsNotFolded(t *testing.T) {
	const n = 256 << 10
	for _, gives := range []string{"up", "its world back"} {
		t.Run(gives, func(t *testing.T) {
			h := &heldUp{began: make(chan struct{}), end: make(chan struct{})}
			run(t, 2, func(ctx context.Context, w *symmem.World) error {
				win, err := window.Alloc[byte](ctx, w, n)
				if err != nil {
					return err
				}
				s, err := ce.Open(ctx, w.Team(), ce.Options{})
				if err != nil {
					return err
				}
				call, parts := symmem.Record{Op: symmem.OpReduce, Root: 1, EltSize: 1}, make([]ce.Part, 2)
				if w.Rank() == 1 {
					parts[1].Src = make([]byte, n)
					if err := s.Fold(ctx, call, parts, n, false, h); err == nil {
						return errors.New("a success")
					}
					return nil
				}
				defer close(h.end)
				parts[1].Src = win.Local()
				mine, cancel := context.WithCancel(ctx)
				defer cancel()
				go func() {
					<-h.began
					if gives == "up" {
						cancel()
					} else {
						_ = w.Close()
					}
				}()
				if err := s.Fold(mine, call, parts, 0, false, nil); err == nil {
					return errors.New("the sender had a success")
				}
				return nil
			})
		})
	}
}

// TestTwoStreamsGiveUpAtOnce: the account of why is one of theirs, whole.
func TestTwoStreamsGiveUpAtOnce(t *testing.T) {
	for range 30 {
		run(t, 2, func(ctx context.Context, w *symmem.World) error {
			team, err := w.Team().Split(ctx, 0, 0)
			if err != nil {
				return err
			}
			var streams [2]*ce.Stream
			for i := range streams {
				if streams[i], err = ce.Open(ctx, team, ce.Options{}); err != nil {
					return err
				}
			}
			if w.Rank() == 0 {
				short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
				defer cancel()
				var both sync.WaitGroup
				for _, s := range streams {
					both.Go(func() { _ = s.Run(short, new(ce.Batch)) })
				}
				both.Wait()
			}
			return w.Team().Barrier(ctx)
		})
	}
}

// cancelled: again and again a team of all ranks works until one of them is
// cancelled at a random moment. All get an error that says so, and the next team,
// and the world's, know nothing of it.
func cancelled(ctx context.Context, w *symmem.World) error {
	const seed, rounds = 17, 12
	rng := rand.New(rand.NewPCG(seed, 0)) // the same on all ranks
	for round := range rounds {
		victim, after := rng.IntN(w.Size()), time.Duration(rng.IntN(3000))*time.Microsecond
		fail := func(err error) error { return fmt.Errorf("seed %d, round %d, rank %d: %w", seed, round, w.Rank(), err) }
		twin, err := w.Team().Split(ctx, 0, 0)
		if err != nil {
			return fail(err)
		}
		s, err := ce.Open(ctx, twin, ce.Options{Staging: 32 << 10})
		if err != nil {
			return fail(err)
		}
		mine, cancel := ctx, context.CancelFunc(func() {})
		if w.Rank() == victim {
			mine, cancel = context.WithTimeout(ctx, after)
		}
		var b ce.Batch
		for err == nil {
			if err = s.Exchange(mine, allToAllCall, partsFor(w, round, 50_000), round%2 == 0, nil); err == nil {
				err = s.Run(mine, &b)
			}
			if err == nil {
				s.Start(&b)
			}
		}
		cancel()
		local := errors.Is(err, context.DeadlineExceeded) // it may have been between two calls
		if local != (w.Rank() == victim) || !local && !errors.Is(err, symmem.ErrAborted) {
			return fail(err)
		}
		if local {
			_ = twin.Revoke(err)
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return fail(err)
		}
		if err := s.Start(new(ce.Batch)).Wait(ctx); !errors.Is(err, symmem.ErrAborted) {
			return fail(err)
		}
	}
	return inWindow(ctx, w, func(win *window.Window[byte]) error {
		return mixture(ctx, w.Team(), win, 99, 10, ce.Options{}, false)
	})
}

func TestCancelledLeavesOthersUnharmed(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		run(t, n, cancelled)
	}
	for range 2 {
		ranktest.Start(t, 3, "cancel").Wait()
	}
}
