package symwin_test

import (
	"context"
	"errors"
	"sort"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin"
	"github.com/symwin/symwin/symmem"
)

// doneAfter is a context that is done once it was asked a number of times, so
// that a call is cancelled between two of its parts.
type doneAfter struct {
	context.Context
	left atomic.Int64
}

func (c *doneAfter) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A call that is cancelled before it begins concerns its rank alone; one that is
// cancelled between its parts has told the others already, so they are not left
// waiting: their call fails as soon as its author's does.
func TestCancelledBetweenParts(t *testing.T) {
	for asked := range int64(4) {
		errs := make([]error, 2)
		var after error // of the barrier behind rank 1's call, if that had all it needed before rank 0 gave up
		o := symwin.Options{Size: 2, StallReport: -1}
		require.NoError(t, runWith(o, func(ctx context.Context, w *symwin.World) error {
			dst, src, n := make([]int64, 2), make([]int64, 2), make([]int, 2)
			call := func(ctx context.Context) error {
				return symwin.AllToAllv(ctx, w.Team(), dst, n, src, []int{1, 1})
			}
			if err := call(ctx); err != nil {
				return err
			}
			if w.Rank() == 1 {
				if errs[1] = call(ctx); errs[1] == nil {
					after = w.Team().Barrier(ctx)
				}
				return nil
			}
			time.Sleep(20 * time.Millisecond) // rank 1 has sent its part: no slow wait asks the context
			c := &doneAfter{Context: ctx}
			c.left.Store(asked)
			errs[0] = call(c)
			if asked == 0 {
				require.NoError(t, w.Team().Usable())
				return call(ctx) // local: the call did not count
			}
			return nil
		}))
		if asked > 0 && errs[0] != nil {
			require.ErrorIs(t, errs[0], context.Canceled)
			require.ErrorIs(t, errors.Join(errs[1], after), symwin.ErrAborted, "asked %d times", asked)
		} else {
			require.NoError(t, errs[1])
		}
	}
}

// Two goroutines in one team: at most one is inside, and what it gets is right.
func TestTwoGoroutinesInOneTeam(t *testing.T) {
	require.NoError(t, symwin.Run(context.Background(), 1, func(ctx context.Context, w *symwin.World) error {
		done := make(chan error)
		for g := range 2 {
			go func() {
				src, dst, n := make([]int, 100), make([]int, 100), make([]int, 1)
				for i := range src {
					src[i] = g + 1
				}
				for range 2000 {
					clear(dst)
					err := symwin.AllToAllv(ctx, w.Team(), dst, n, src, []int{100})
					if err == nil && (dst[0] != g+1 || dst[99] != g+1) {
						done <- errors.New("got the other goroutine's data")
						return
					}
					if err != nil && !errors.Is(err, symwin.ErrUsage) {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		return errors.Join(<-done, <-done)
	}))
}

func runWith(o symwin.Options, f func(context.Context, *symwin.World) error) error {
	return symmem.RunWith(context.Background(), o, f)
}

// slowlyDone lets others go ahead when it is asked, so that it is asked only once in
// each of a call's parts: none of them has to wait.
type slowlyDone struct{ doneAfter }

func (c *slowlyDone) Err() error {
	time.Sleep(20 * time.Millisecond)
	return c.doneAfter.Err()
}

// TestCancelledWhileNobodyHasRoom: a rank that cannot take its part in giving memory
// back, because its context has ended, is not waited for there.
func TestCancelledWhileNobodyHasRoom(t *testing.T) {
	const heap, page = 16 << 20, 4 << 10
	leave := func(ctx context.Context, w *symwin.World, bytes int) error {
		_, err := symwin.Alloc[byte](ctx, w, heap-bytes)
		return err
	}
	exchange := func(ctx context.Context, w *symwin.World) error {
		return symwin.AllToAll(ctx, w.Team(), make([]byte, 2), make([]byte, 2))
	}
	// What the engines take depends on the processor. With a page less than that the
	// second of them finds no room, and the first gives its own back.
	least := page * sort.Search(heap/page, func(pages int) bool {
		err := symwin.Run(t.Context(), 2, func(ctx context.Context, w *symwin.World) error {
			return errors.Join(leave(ctx, w, pages*page), exchange(ctx, w))
		})
		if err != nil {
			require.ErrorIs(t, err, symwin.ErrNoSpace)
		}
		return err == nil
	})
	for asked := int64(1); asked < 5; asked++ { // at its first question it would not have been in the call
		var errs [2]error
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		returned := make(chan struct{})
		_ = symwin.Run(ctx, 2, func(ctx context.Context, w *symwin.World) error {
			if err := leave(ctx, w, least-page); err != nil {
				return err
			}
			mine := ctx
			if w.Rank() == 0 {
				c := &slowlyDone{doneAfter{Context: ctx}}
				c.left.Store(asked)
				mine = c
			}
			errs[w.Rank()] = exchange(mine, w)
			if w.Rank() == 1 {
				close(returned)
				return nil
			}
			select { // the program of the other goes on, without the team
			case <-returned:
			case <-ctx.Done():
			}
			return nil
		})
		require.Error(t, errs[0])
		require.Error(t, errs[1])
		require.NotErrorIs(t, errs[1], symwin.ErrLeft, "waited to the end; asked %d times, rank 0: %v", asked, errs[0])
	}
}
