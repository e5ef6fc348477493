package ce_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// TestAFaultInAWorkerIsTheBatchesError: the program maps a file and truncates it
// while a batch reads it. That is an error of the batch, wherever it is copied,
// and the process lives, as do its other teams.
func TestAFaultInAWorkerIsTheBatchesError(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const size = 8 << 20
	for _, workers := range []int{1, 3} {
		mapped := truncated(t, 2*size)[size:] // nothing of it is there
		run(t, 2, func(ctx context.Context, w *symmem.World) error {
			twin, err := w.Team().Split(ctx, 0, 0)
			if err != nil {
				return err
			}
			win, err := window.Alloc[byte](ctx, w, size)
			if err != nil {
				return err
			}
			s, err := ce.Open(ctx, twin, ce.Options{Workers: workers})
			if err != nil {
				return err
			}
			var b ce.Batch
			if w.Rank() == 0 {
				ce.Put(&b, 1, win.At(0, size), mapped)
			}
			err = s.Start(&b).Wait(ctx)
			var panicked *ce.PanicError
			if w.Rank() == 0 && !errors.As(err, &panicked) {
				return fmt.Errorf("rank 0: %v", err)
			}
			if w.Rank() == 1 && !errors.Is(err, symmem.ErrAborted) {
				return fmt.Errorf("rank 1: %v", err)
			}
			if err := s.Run(ctx, new(ce.Batch)); !errors.Is(err, symmem.ErrAborted) {
				return fmt.Errorf("on the revoked team: %v", err)
			}
			return w.Team().Barrier(ctx)
		})
	}
}

// TestAFaultInTheOwnPartReachesThePeers, although it comes before they are told which
// call it is in: they were invited. On the team's own lane, and on the stream's; and of a
// pair.
func TestAFaultInTheOwnPartReachesThePeers(t *testing.T) {
	const size = 64 << 10
	mapped := truncated(t, 2*size)[size:] // nothing of it is there
	for name, open := range map[string]func(context.Context, *symmem.Team) (*ce.Stream, error){
		"team": func(ctx context.Context, t *symmem.Team) (*ce.Stream, error) {
			return ce.OpenFor(ctx, t, allToAllCall, ce.Options{})
		},
		"stream": func(ctx context.Context, t *symmem.Team) (*ce.Stream, error) { return ce.Open(ctx, t, ce.Options{}) },
		"pair": func(ctx context.Context, t *symmem.Team) (*ce.Stream, error) {
			s, err := ce.OpenFor(ctx, t, allToAllCall, ce.Options{})
			if err == nil {
				s.ShareEdges()
			}
			return s, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, w *symmem.World) error {
				s, err := open(ctx, w.Team())
				if err != nil {
					return err
				}
				src := make([]byte, size)
				if w.Rank() == 0 {
					src = mapped
				}
				dst := make([]byte, size)
				err = s.ExchangeEach(ctx, &allToAllCall, func(r int) ([]byte, []byte) {
					if r != w.Rank() {
						return nil, nil
					}
					return src, dst
				})
				var panicked *ce.PanicError
				if w.Rank() == 0 && !errors.As(err, &panicked) || w.Rank() == 1 && !errors.Is(err, symmem.ErrAborted) {
					return fmt.Errorf("rank %d: %v", w.Rank(), err)
				}
				return nil
			})
		})
	}
}
