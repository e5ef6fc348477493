package symmem_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

func init() {
	scenarios["two-at-once"] = inWorld(twoAtOnce)
	scenarios["close-in-wait"] = inWorld(closeInWait)
	scenarios["cancelled"] = inWorld(cancelled)
	scenarios["own-number"] = inWorld(func(ctx context.Context, w *symmem.World) error {
		for range 200 {
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
		}
		fmt.Println("job", w.Job(), "rank", w.Rank())
		return nil
	})
}

func inWorld(f func(context.Context, *symmem.World) error) ranktest.Scenario {
	return func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error { return f(ctx, w) })
	}
}

// inBoth runs f as goroutines and as processes.
func inBoth(t *testing.T, n int, scenario string, f func(context.Context, *symmem.World) error) {
	t.Helper()
	t.Run("in process", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
		defer cancel()
		require.NoError(t, symmem.Run(ctx, n, f))
	})
	t.Run("processes", func(t *testing.T) { ranktest.Start(t, n, scenario).Wait() })
}

// barrierBeside calls a barrier, however often inside is at the door.
func barrierBeside(ctx context.Context, team *symmem.Team) error {
	for {
		if err := team.Barrier(ctx); !errors.Is(err, symmem.ErrUsage) {
			return err
		}
	}
}

// inside waits until a barrierBeside of this rank has begun.
func inside(team *symmem.Team) error {
	for end := time.Now().Add(ranktest.Watchdog); time.Now().Before(end); runtime.Gosched() {
		// The gate refuses a second one only while somebody is inside, and a done
		// context refuses it otherwise: this asks without calling.
		done, cancel := context.WithCancel(context.Background())
		cancel()
		if errors.Is(team.Barrier(done), symmem.ErrUsage) {
			return nil
		}
	}
	return errors.New("nobody came inside")
}

// twoAtOnce: a second call on a team is refused while one is inside, and harms
// nobody; on a duplicate of the team it may be made.
func twoAtOnce(ctx context.Context, w *symmem.World) error {
	twin, err := w.Team().Split(ctx, 0, 0)
	if err != nil {
		return err
	}
	if w.Rank() == 0 {
		first := make(chan error, 1)
		go func() { first <- barrierBeside(ctx, w.Team()) }()
		if err := inside(w.Team()); err != nil {
			return err
		}
		for range 3 {
			if err := w.Team().Barrier(ctx); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("a second barrier: %v", err)
			}
			if _, err := w.Team().Split(ctx, 0, 0); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("a split beside a barrier: %v", err)
			}
		}
		if err := twin.Barrier(ctx); err != nil {
			return err
		}
		return <-first
	}
	if err := twin.Barrier(ctx); err != nil {
		return err
	}
	return w.Team().Barrier(ctx)
}

func TestTwoCallsAtOnce(t *testing.T) { inBoth(t, 3, "two-at-once", twoAtOnce) }

// closeInWait: World.Close from another goroutine ends a wait, also a long one,
// and every call after it.
func closeInWait(ctx context.Context, w *symmem.World) error {
	sub, err := w.Team().Split(ctx, 0, 0)
	if err != nil {
		return err
	}
	if w.Rank() != 0 {
		if err := w.Team().Barrier(ctx); !errors.Is(err, symmem.ErrLeft) {
			return fmt.Errorf("rank %d: %v", w.Rank(), err)
		}
		return nil
	}
	waits := make(chan error, 1)
	go func() { waits <- barrierBeside(ctx, sub) }() // which nobody else calls
	if err := inside(sub); err != nil {
		return err
	}
	time.Sleep(30 * time.Millisecond) // by now it sleeps
	if err := w.Close(); err != nil {
		return err
	}
	if err := <-waits; !errors.Is(err, symmem.ErrClosed) {
		return fmt.Errorf("the wait: %v", err)
	}
	_, splitErr := w.Team().Split(ctx, 0, 0)
	for what, err := range map[string]error{"barrier": w.Team().Barrier(ctx), "split": splitErr, "close of a team": sub.Close(ctx)} {
		if !errors.Is(err, symmem.ErrClosed) {
			return fmt.Errorf("%s after Close: %v", what, err)
		}
	}
	w.Abort(errors.New("of no consequence"))
	if w.Rank() != 0 || w.Size() < 2 || w.Team().Size() != w.Size() || w.Job() == "" {
		return errors.New("a closed world has forgotten who it was")
	}
	return w.Close()
}

func TestCloseDuringAWait(t *testing.T) { inBoth(t, 2, "close-in-wait", closeInWait) }

// cancelled: before a call a done context is local, and the call does not count;
// inside it revokes that team, for everybody and for good, and no other.
func cancelled(ctx context.Context, w *symmem.World) error {
	sub, err := w.Team().Split(ctx, 0, 0)
	if err != nil {
		return err
	}
	done, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("enough"))
	for range 5 * w.Rank() { // different numbers of calls that do not count
		if err := sub.Barrier(done); !errors.Is(err, context.Canceled) || errors.Is(err, symmem.ErrAborted) {
			return fmt.Errorf("before: %v", err)
		}
		if _, err := sub.Split(done, 0, 0); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("before: %v", err)
		}
	}
	if err := sub.Barrier(ctx); err != nil {
		return fmt.Errorf("after calls that do not count: %w", err)
	}
	if w.Rank() == 1 {
		err := sub.Barrier(ranktest.Inside(ctx, context.Canceled))
		var late *symmem.TimeoutError
		if !errors.Is(err, context.Canceled) || !errors.As(err, &late) || len(late.Missing) == 0 || late.Missing[0] == 1 {
			return fmt.Errorf("inside: %v", err)
		}
	}
	if err := w.Team().Barrier(ctx); err != nil { // another team
		return err
	}
	for range 2 {
		err = sub.Barrier(ctx)
		var a *symmem.AbortedError
		if !errors.As(err, &a) || a.Rank != 1 || a.Team != sub.Number() {
			return fmt.Errorf("on the revoked team: %v", err)
		}
	}
	if err := sub.Close(ctx); !errors.Is(err, symmem.ErrAborted) {
		return fmt.Errorf("close of the revoked team: %v", err)
	}
	again, err := w.Team().Split(ctx, 0, 0)
	if err != nil {
		return err
	}
	return again.Barrier(ctx)
}

func TestCancelled(t *testing.T) { inBoth(t, 3, "cancelled", cancelled) }

// TestRunTellsTheCause: an error, a panic or a Goexit of one rank ends the
// waits of the others, which name it; Run tells the first cause.
func TestRunTellsTheCause(t *testing.T) {
	cause := errors.New("the cause")
	run := func(end func() error) (panicked any, seen []error, err error) {
		seen = make([]error, 3)
		defer func() { panicked = recover() }()
		err = symmem.Run(context.Background(), 3, func(ctx context.Context, w *symmem.World) error {
			if err := w.Team().Barrier(ctx); err != nil {
				return err
			}
			if w.Rank() == 1 {
				return end()
			}
			seen[w.Rank()] = w.Team().Barrier(ctx)
			return seen[w.Rank()]
		})
		return nil, seen, err
	}
	namesRank1 := func(seen []error) {
		t.Helper()
		for _, r := range []int{0, 2} {
			var failed *symmem.RankFailedError
			require.ErrorAs(t, seen[r], &failed)
			require.Contains(t, failed.Ranks, 1)
		}
	}
	panicked, seen, err := run(func() error { return cause })
	require.ErrorIs(t, err, cause)
	require.ErrorContains(t, err, "rank 1")
	require.Nil(t, panicked)
	namesRank1(seen)

	panicked, seen, err = run(func() error { runtime.Goexit(); return nil })
	require.ErrorContains(t, err, "rank 1")
	require.ErrorContains(t, err, "Goexit")
	require.Nil(t, panicked)
	namesRank1(seen)

	panicked, seen, _ = run(func() error { panic(fmt.Sprint("on purpose", 1)) })
	require.Contains(t, fmt.Sprint(panicked), "rank 1 panicked: on purpose1")
	require.Contains(t, fmt.Sprint(panicked), "lifecycle_test.go", "the stack of the rank")
	namesRank1(seen)
}

func TestRunBadly(t *testing.T) {
	var ran atomic.Bool
	f := func(context.Context, *symmem.World) error { ran.Store(true); return nil }
	for _, n := range []int{-1, 0, 1025} {
		require.ErrorIs(t, symmem.Run(context.Background(), n, f), symmem.ErrUsage, "%d ranks", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, symmem.Run(ctx, 2, f), context.Canceled)
	for _, o := range []symmem.Options{
		{Rank: 2, Size: 2}, {Rank: -1, Size: 2}, {Size: -1}, {Size: 1025}, {Size: 2, Window: 1000}, {Size: 1024, Window: 1 << 40},
		{Size: 2, Job: "../../etc/passwd"}, {Size: 2, Job: string(make([]byte, 300))},
	} {
		if o.Job == "" && o.Size != 0 {
			o.Job = "badly"
		}
		_, err := symmem.JoinWith(context.Background(), o)
		require.ErrorIs(t, err, symmem.ErrUsage, "%+v", o)
		if o.Size <= 0 || o.Size > 1024 || o.Window != 0 || o.Job != "badly" {
			_, err = symmem.NewHost(o.Job, symmem.Geometry{Size: o.Size, Window: max(o.Window, 1)})
			require.ErrorIs(t, err, symmem.ErrUsage, "%+v", o)
		}
	}
	require.False(t, ran.Load())
}

// TestWorldOfOne: with nothing set Join is alone, and everything works.
func TestWorldOfOne(t *testing.T) {
	w, err := symmem.Join(context.Background())
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 0}, []int{w.Rank(), w.Size(), w.Team().Rank()})
	sub, err := w.Team().Split(context.Background(), 0, 0)
	require.NoError(t, err)
	require.NoError(t, sub.Barrier(context.Background()))
	require.NoError(t, sub.Close(context.Background()))
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Team().Barrier(context.Background()), symmem.ErrClosed)
}

// TestTwoJobsAtOnce: jobs of different names do not know of each other.
func TestTwoJobsAtOnce(t *testing.T) {
	a, b := ranktest.New(t), ranktest.New(t)
	for r := range 3 {
		a.Add(r, 3, "own-number")
		if r < 2 {
			b.Add(r, 2, "own-number")
		}
	}
	a.Wait()
	b.Wait()
	for _, j := range []*ranktest.Job{a, b} {
		for i, r := range j.Ranks {
			require.Contains(t, r.Output(), fmt.Sprintf("job %s rank %d", j.Name, i))
		}
	}
}
