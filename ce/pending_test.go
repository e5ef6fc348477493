package ce_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// withStream runs f with a stream of the world's team and a window of words, and
// closes both.
func withStream(ctx context.Context, w *symmem.World, o ce.Options, words int, f func(*ce.Stream, *window.Window[uint64]) error) error {
	win, err := window.Alloc[uint64](ctx, w, words)
	if err != nil {
		return err
	}
	s, err := ce.Open(ctx, w.Team(), o)
	if err != nil {
		return err
	}
	if err := f(s, win); err != nil {
		return err
	}
	return errors.Join(s.Close(ctx), win.Free(ctx))
}

// TestQueueKeepsItsOrder: many batches are started at once, each puts what the
// next one overwrites. What comes last stays.
func TestQueueKeepsItsOrder(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		return withStream(ctx, w, ce.Options{}, w.Size(), func(s *ce.Stream, win *window.Window[uint64]) error {
			const batches = 40
			var b [batches]ce.Batch
			var src [batches][1]uint64
			for round := range 3 {
				var last *ce.Pending
				for k := range b {
					b[k].Reset()
					src[k][0] = uint64(round*1000 + k*10 + w.Rank())
					for to := range w.Size() {
						ce.Put(&b[k], to, win.At(w.Rank(), 1), src[k][:])
					}
					last = s.Start(&b[k])
				}
				if err := last.Wait(ctx); err != nil {
					return err
				}
				for k := range b {
					if p := s.Start(&b[k]); k < batches-1 {
						defer func() { _ = p.Wait(ctx) }()
					}
				}
				// Run comes behind all of them.
				if err := s.Run(ctx, new(ce.Batch)); err != nil {
					return err
				}
				for r, v := range win.Local() {
					if want := uint64(round*1000 + (batches-1)*10 + r); v != want {
						return fmt.Errorf("rank %d has %d of rank %d, want %d", w.Rank(), v, r, want)
					}
				}
				if err := w.Team().Barrier(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// TestAfterOrdersStreams: of two streams each batch waits for the other stream's
// last one, so both put into one place in turns.
func TestAfterOrdersStreams(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		return withStream(ctx, w, ce.Options{}, 1, func(even *ce.Stream, win *window.Window[uint64]) error {
			odd, err := ce.Open(ctx, w.Team(), ce.Options{})
			if err != nil {
				return err
			}
			const n = 60
			var b [n]ce.Batch
			var src [n][1]uint64
			var last *ce.Pending
			for k := range b {
				src[k][0] = uint64(k + 1)
				ce.Put(&b[k], 1-w.Rank(), win.At(0, 1), src[k][:])
				s := even
				if k%2 == 1 {
					s = odd
				}
				last = s.Start(&b[k], last, nil)
			}
			if err := last.Wait(ctx); err != nil {
				return err
			}
			if got := win.Local()[0]; got != n {
				return fmt.Errorf("rank %d: the last of %d is %d", w.Rank(), n, got)
			}
			for k := range b {
				if !b[k].Started().Done() {
					return fmt.Errorf("batch %d has not ended, but one that came after it has", k)
				}
			}
			return odd.Close(ctx)
		})
	})
}

// signalAfterBatch: a rank that starts a batch and then waits for what its peer
// does behind it is no deadlock, whoever has the CPU.
func signalAfterBatch(ctx context.Context, w *symmem.World) error {
	return withStream(ctx, w, ce.Options{Workers: 1}, 1<<16, func(s *ce.Stream, win *window.Window[uint64]) error {
		src := make([]uint64, 1<<15)
		peer := (w.Rank() + 1) % w.Size()
		var b ce.Batch
		for round := range uint64(30) {
			b.Reset()
			for i := range src {
				src[i] = round<<32 | uint64(i)
			}
			ce.Put(&b, peer, win.At(0, len(src)), src)
			p := s.Start(&b)
			if w.Rank() > 0 { // waits for its own batch first, which rank 0 has started too
				if err := p.Wait(ctx); err != nil {
					return err
				}
				if err := win.Signal(0, 1); err != nil {
					return err
				}
			} else {
				for r := 1; r < w.Size(); r++ {
					if _, err := win.WaitSignal(ctx, r, 1, round+1); err != nil {
						return err
					}
				}
				if err := p.Wait(ctx); err != nil {
					return err
				}
			}
			for i, v := range win.Local()[:len(src)] {
				if v != round<<32|uint64(i) {
					return fmt.Errorf("round %d: word %d is %x", round, i, v)
				}
			}
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestSignalAfterBatch(t *testing.T) {
	run(t, 2, signalAfterBatch)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	run(t, 2, signalAfterBatch)
	run(t, 3, signalAfterBatch)
	ranktest.Start(t, 2, "signal", "GOMAXPROCS=1").Wait()
	ranktest.Start(t, 3, "signal").Wait()
}

// TestCloseWaitsForWhatWasStarted, and what was started is there.
func TestCloseWaitsForWhatWasStarted(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		win, err := window.Alloc[uint64](ctx, w, 10)
		if err != nil {
			return err
		}
		s, err := ce.Open(ctx, w.Team(), ce.Options{})
		if err != nil {
			return err
		}
		var b [10]ce.Batch
		for k := range b {
			ce.Put(&b[k], 1-w.Rank(), win.At(k, 1), []uint64{uint64(100 + k)})
		}
		if w.Rank() == 1 {
			time.Sleep(5 * time.Millisecond) // rank 0 is in Close by then
		}
		for k := range b {
			s.Start(&b[k])
		}
		done, cancel := context.WithCancel(ctx)
		cancel()
		if w.Rank() == 0 { // its peer has started nothing: local, and the stream goes on
			if err := s.Close(done); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("a Close that is cancelled: %v", err)
			}
		}
		if err := s.Close(ctx); err != nil {
			return err
		}
		for k, v := range win.Local() {
			if v != uint64(100+k) || !b[k].Started().Done() {
				return fmt.Errorf("batch %d after Close: %d", k, v)
			}
		}
		if err := s.Start(&b[0]).Wait(ctx); !errors.Is(err, symmem.ErrClosed) {
			return fmt.Errorf("Start on a closed stream: %v", err)
		}
		return nil
	})
}

// TestStartRefuses bad batches by Wait, and one that has not ended.
func TestStartRefuses(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		return withStream(ctx, w, ce.Options{}, 4, func(s *ce.Stream, win *window.Window[uint64]) error {
			var bad, good ce.Batch
			ce.Put(&bad, 7, win.At(0, 1), []uint64{9})
			if err := s.Start(&bad).Wait(ctx); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("a bad batch: %v", err)
			}
			ce.Put(&good, 1-w.Rank(), win.At(0, 1), []uint64{5})
			if w.Rank() == 0 {
				p := s.Start(&good) // rank 1 has started nothing yet
				if p.Done() {
					return errors.New("done before the peer has come")
				}
				for what, err := range map[string]error{
					"start": s.Start(&good).Wait(ctx),
					"run":   s.Run(ctx, &good),
				} {
					if !errors.Is(err, symmem.ErrUsage) {
						return fmt.Errorf("%s of a batch under way: %v", what, err)
					}
				}
				short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
				defer cancel()
				if err := p.Wait(short); !errors.Is(err, symmem.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("a short wait: %v", err)
				}
			}
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			if w.Rank() == 1 {
				s.Start(&good)
			}
			return good.Started().Wait(ctx)
		})
	})
}

// TestManyWaitForOne: everybody who waits is woken, also for the next start.
func TestManyWaitForOne(t *testing.T) {
	run(t, 1, func(ctx context.Context, w *symmem.World) error {
		return withStream(ctx, w, ce.Options{}, 1, func(s *ce.Stream, win *window.Window[uint64]) error {
			var b ce.Batch
			for range 100 {
				p := s.Start(&b)
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() { _ = p.Wait(ctx) })
				}
				all.Wait()
				if !p.Done() {
					return errors.New("woken too early")
				}
			}
			return nil
		})
	})
}

// TestStreamsBesideTheTeam: three streams and the team's own calls at once, from
// goroutines of their own, in different order on each rank.
func TestStreamsBesideTheTeam(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		return inWindow(ctx, w, func(win *window.Window[byte]) error {
			var streams [3]*ce.Stream
			for i := range streams {
				s, err := ce.Open(ctx, w.Team(), ce.Options{Staging: 64 << 10})
				if err != nil {
					return err
				}
				streams[i] = s
			}
			errs := make(chan error, len(streams)+1)
			for i := range streams {
				s := streams[(i+w.Rank())%len(streams)]
				go func() { errs <- pingAround(ctx, w, s, 30) }()
			}
			go func() {
				for range 100 {
					if err := w.Team().Barrier(ctx); err != nil {
						errs <- err
						return
					}
				}
				errs <- nil
			}()
			var all error
			for range cap(errs) {
				all = errors.Join(all, <-errs)
			}
			for _, s := range streams {
				all = errors.Join(all, s.Close(ctx))
			}
			return all
		})
	})
}

// pingAround exchanges private memory over s, and batches in between.
func pingAround(ctx context.Context, w *symmem.World, s *ce.Stream, rounds int) error {
	n, me := w.Size(), w.Rank()
	parts := make([]ce.Part, n)
	for round := range rounds {
		for r := range parts {
			parts[r] = ce.Part{Src: message(3000, round, me, r), Dst: make([]byte, 3000)}
		}
		if err := s.Exchange(ctx, symmem.Record{Op: symmem.OpAllToAll, Engine: symmem.EngineCE}, parts, false, nil); err != nil {
			return err
		}
		for r := range parts {
			if string(parts[r].Dst) != string(message(3000, round, r, me)) {
				return fmt.Errorf("round %d: wrong bytes from %d", round, r)
			}
		}
		if err := s.Run(ctx, new(ce.Batch)); err != nil {
			return err
		}
	}
	return nil
}

// TestWorldCloseEndsWhatWasStarted: the peer never comes; World.Close lets nobody
// wait for ever, and leaves no goroutine.
func TestWorldCloseEndsWhatWasStarted(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := ce.Open(ctx, w.Team(), ce.Options{})
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			return w.Team().Barrier(ctx)
		}
		var b ce.Batch
		p := s.Start(&b)
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := p.Wait(ctx); !errors.Is(err, symmem.ErrClosed) && !errors.Is(err, symmem.ErrLeft) {
			return fmt.Errorf("after World.Close: %v", err)
		}
		return nil
	})
}

// TestALateRankIsNamed by a Wait that gives up, and the batch goes on.
func TestALateRankIsNamed(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		return withStream(ctx, w, ce.Options{}, 4, func(s *ce.Stream, win *window.Window[uint64]) error {
			var b ce.Batch
			if err := s.Run(ctx, &b); err != nil {
				return err
			}
			ce.Put(&b, (w.Rank()+1)%3, win.At(0, 1), []uint64{uint64(w.Rank())})
			if w.Rank() != 1 {
				p := s.Start(&b)
				var late *symmem.TimeoutError
				// Until a wait has parked, and after it the other rank has come.
				for !errors.As(p.Wait(after(ctx, time.Millisecond)), &late) || len(late.Missing) > 1 {
				}
				if !errors.Is(late, symmem.ErrTimeout) || len(late.Missing) != 1 || late.Missing[0] != 1 {
					return fmt.Errorf("rank %d was told %v", w.Rank(), late)
				}
			}
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			if w.Rank() == 1 {
				s.Start(&b)
			}
			if err := b.Started().Wait(ctx); err != nil {
				return err
			}
			if got := win.Local()[0]; got != uint64(w.Rank()+2)%3 {
				return fmt.Errorf("rank %d got %d", w.Rank(), got)
			}
			return nil
		})
	})
}

func after(ctx context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// A program gives its CPU to a large batch that can begin, and only where another CPU is
// idle: beside goroutines that compute it would get none for as long as they like.
func TestNobodyGivesWayToTheBusy(t *testing.T) {
	if runtime.Version() < "go1.26" {
		t.Skip("the scheduler does not tell")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	run(t, 1, func(ctx context.Context, w *symmem.World) error {
		return withStream(ctx, w, ce.Options{Workers: 1}, 1<<17, func(s *ce.Stream, win *window.Window[uint64]) error {
			var small, large ce.Batch
			words := make([]uint64, 1<<17)
			ce.Put(&small, 0, win.At(0, 1), words[:1])
			ce.Put(&large, 0, win.At(0, 1<<17), words)
			require.True(t, ranktest.Within(func() bool { return s.GivesWay(&large, false) }), "nothing runs but this test")
			require.False(t, s.GivesWay(&small, false))
			require.False(t, s.GivesWay(&large, true), "it would only wait")
			var stop atomic.Bool
			var busy sync.WaitGroup
			for range 2 {
				busy.Go(func() {
					for !stop.Load() {
					}
				})
			}
			require.True(t, ranktest.Within(func() bool { return !s.GivesWay(&large, false) }))
			stop.Store(true)
			busy.Wait()
			require.True(t, ranktest.Within(func() bool { return s.GivesWay(&large, false) }))
			return nil
		})
	})
}

// TestATeamIsNotClosedUnderABatch: the batch could not end then, nor its peers'.
func TestATeamIsNotClosedUnderABatch(t *testing.T) {
	refused := make(chan struct{})
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		twin, s, err := openOnTwin(ctx, w)
		if err != nil {
			return err
		}
		var b ce.Batch
		if w.Rank() == 1 {
			<-refused // until then rank 0's cannot end
		}
		p := s.Start(&b)
		if w.Rank() == 0 {
			if err := twin.Close(ctx); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("closed under a batch: %v", err)
			}
			close(refused)
		}
		if err := p.Wait(ctx); err != nil {
			return err
		}
		return errors.Join(s.Close(ctx), twin.Close(ctx))
	})
}
