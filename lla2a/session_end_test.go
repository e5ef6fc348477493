package lla2a_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

// aWait is a call of a session of two ranks that waits for rank 1, which does
// nothing. It returns what it has received and its error.
type aWait struct {
	before uint64 // the epoch it happens in
	call   func(ctx context.Context, s *lla2a.Session[[24]byte]) (any, error)
	empty  any // what a call that fails returns
}

var waits = map[string]aWait{
	"Send": {before: 2, call: func(ctx context.Context, s *lla2a.Session[[24]byte]) (any, error) {
		return nil, s.Send(ctx, 1, 0, [24]byte{1})
	}},
	"Bcast": {before: 2, call: func(ctx context.Context, s *lla2a.Session[[24]byte]) (any, error) {
		return nil, s.Bcast(ctx, 0, [24]byte{1})
	}},
	"Recv": {empty: [24]byte{}, call: func(ctx context.Context, s *lla2a.Session[[24]byte]) (any, error) {
		return s.Recv(ctx, 1, 0)
	}},
	"RecvAll": {empty: [2][24]byte{}, call: func(ctx context.Context, s *lla2a.Session[[24]byte]) (any, error) {
		var all [2][24]byte
		return all, s.RecvAll(ctx, 0, all[:])
	}},
	"RecvReduce": {empty: 7, call: func(ctx context.Context, s *lla2a.Session[[24]byte]) (any, error) {
		return lla2a.RecvReduce(ctx, s, 0, 7, func(acc int, _ [24]byte) int { return acc + 1 })
	}},
	"EndEpoch": {before: lla2a.Lap - 1, call: func(ctx context.Context, s *lla2a.Session[[24]byte]) (any, error) {
		return nil, s.EndEpoch(ctx)
	}},
	"Close": {call: func(ctx context.Context, s *lla2a.Session[[24]byte]) (any, error) {
		return nil, s.Close(ctx)
	}},
}

// ends is how a wait may end without success, and what its error is then.
var ends = map[string]struct {
	end  func(w *symmem.World, cancel func()) // on rank 1, when rank 0 is in its wait
	left time.Duration                        // to rank 0's deadline
	is   error
}{
	"abort":    {end: func(w *symmem.World, _ func()) { w.Abort(errors.New("enough")) }, left: ranktest.Watchdog, is: symmem.ErrAborted},
	"cancel":   {end: func(_ *symmem.World, cancel func()) { cancel() }, left: ranktest.Watchdog, is: context.Canceled},
	"deadline": {end: func(*symmem.World, func()) {}, left: 5 * time.Millisecond, is: context.DeadlineExceeded},
	"left":     {end: func(w *symmem.World, _ func()) { _ = w.Close() }, left: ranktest.Watchdog, is: symmem.ErrLeft},
}

// TestEveryWaitEnds: whatever waits ends by an abort, a cancellation, a deadline
// or the leaving of the one it waits for, and has received nothing then.
func TestEveryWaitEnds(t *testing.T) {
	for name, wait := range waits {
		for how, end := range ends {
			t.Run(name+" by "+how, func(t *testing.T) {
				inside, over := make(chan func()), make(chan struct{})
				run(t, 2, func(ctx context.Context, w *symmem.World) error {
					s, err := lla2a.Open[[24]byte](ctx, w.Team(), 1)
					if err != nil {
						return err
					}
					if wait.before > 2 {
						if err := startAt(ctx, w.Team(), s, wait.before); err != nil {
							return err
						}
					}
					if w.Rank() == 1 {
						cancel := <-inside
						time.Sleep(time.Millisecond) // into every phase of the wait
						end.end(w, cancel)
						<-over
						return nil
					}
					defer close(over)
					for s.Epoch() < wait.before {
						if err := s.EndEpoch(ctx); err != nil {
							return err
						}
					}
					ctx, cancel := context.WithTimeout(ctx, end.left)
					defer cancel()
					inside <- cancel
					got, err := wait.call(ctx, s)
					if !errors.Is(err, end.is) {
						return fmt.Errorf("ended with %v", err)
					}
					if got != wait.empty {
						return fmt.Errorf("received %v", got)
					}
					return nil
				})
			})
		}
	}
}
