package lla2a_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

func TestMisuseStoresNothing(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[uint64](ctx, w.Team(), 2)
		if err != nil {
			return err
		}
		before := s.BlockWords()
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		recv := func(_ uint64, err error) error { return err }
		for what, err := range map[string]error{
			"send to -1":      s.Send(ctx, -1, 0, 1),
			"send to 2":       s.Send(ctx, 2, 0, 1),
			"send slot -1":    s.Send(ctx, 1, -1, 1),
			"send slot 2":     s.Send(ctx, 1, 2, 1),
			"bcast slot 2":    s.Bcast(ctx, 2, 1),
			"recv of 2":       recv(s.Recv(ctx, 2, 0)),
			"recv of -1":      recv(s.Recv(ctx, -1, 0)),
			"recv slot 2":     recv(s.Recv(ctx, 0, 2)),
			"recvall slot -1": s.RecvAll(ctx, -1, make([]uint64, 2)),
			"recvall short":   s.RecvAll(ctx, 0, make([]uint64, 1)),
			"reduce slot 2":   recv(lla2a.RecvReduce(ctx, s, 2, 0, func(a, v uint64) uint64 { return a + v })),
		} {
			if !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("%s: %v", what, err)
			}
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		for i, word := range s.BlockWords() {
			if word != before[i] {
				return fmt.Errorf("rank %d: word %d was stored", w.Rank(), i)
			}
		}
		for what, open := range map[string]func() error{
			"no slots":       func() error { _, err := lla2a.Open[uint64](ctx, w.Team(), 0); return err },
			"slots below 0":  func() error { _, err := lla2a.Open[uint64](ctx, w.Team(), -3); return err },
			"too many slots": func() error { _, err := lla2a.Open[uint64](ctx, w.Team(), 1<<62); return err },
			"a pointer":      func() error { _, err := lla2a.Open[*int](ctx, w.Team(), 1); return err },
			"nothing":        func() error { _, err := lla2a.Open[struct{}](ctx, w.Team(), 1); return err },
		} {
			if err := open(); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("%s: %v", what, err)
			}
		}
		return s.Close(ctx)
	})
}

func TestNoRoomForASession(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		for range 3 {
			if _, err := lla2a.Open[uint64](ctx, w.Team(), 1<<20); !errors.Is(err, symmem.ErrNoSpace) {
				return fmt.Errorf("got %v", err)
			}
		}
		return program[uint64](ctx, w, 1, 0, 4)
	})
}

func TestSessionsMustMatch(t *testing.T) {
	for what, open := range map[string]func(context.Context, *symmem.World) error{
		"slots": func(ctx context.Context, w *symmem.World) error {
			_, err := lla2a.Open[uint64](ctx, w.Team(), 1+w.Rank())
			return err
		},
		"types": func(ctx context.Context, w *symmem.World) (err error) {
			if w.Rank() == 1 {
				_, err = lla2a.Open[uint32](ctx, w.Team(), 1)
			} else {
				_, err = lla2a.Open[uint64](ctx, w.Team(), 1)
			}
			return err
		},
	} {
		run(t, 2, func(ctx context.Context, w *symmem.World) error {
			if err := open(ctx, w); !errors.Is(err, symmem.ErrMismatch) {
				return fmt.Errorf("%s: %v", what, err)
			}
			return nil
		})
	}
}

// TestCancelledReceiveMayBeRepeated: also one that has seen some of the words.
func TestCancelledReceiveMayBeRepeated(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[[24]byte](ctx, w.Team(), 1)
		if err != nil {
			return err
		}
		other := 1 - w.Rank()
		for i := range uint64(3) {
			short, cancel := context.WithTimeout(ctx, 3*time.Millisecond)
			_, err := s.Recv(short, other, 0)
			cancel()
			var late *symmem.TimeoutError
			if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &late) || len(late.Missing) != 1 || late.Missing[0] != other {
				return fmt.Errorf("got %v", err)
			}
			gone, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Millisecond, cancel)
			if _, err := s.Recv(gone, other, 0); !errors.Is(err, context.Canceled) || errors.Is(err, symmem.ErrTimeout) {
				return fmt.Errorf("got %v", err)
			}
			if err := w.Team().Barrier(ctx); err != nil { // no harm was done to the team
				return err
			}
			if err := s.Send(ctx, other, 0, value[[24]byte](i, w.Rank(), other, 0)); err != nil {
				return err
			}
			v, err := s.Recv(ctx, other, 0)
			if err != nil || v != value[[24]byte](i, other, w.Rank(), 0) {
				return fmt.Errorf("repeated: %x, %v", v, err)
			}
			if err := s.EndEpoch(ctx); err != nil {
				return err
			}
		}
		return s.Close(ctx)
	})
}

// TestCancelledSendMayBeRepeated: rank 0 has no room at rank 1, which sleeps.
func TestCancelledSendMayBeRepeated(t *testing.T) {
	release := make(chan struct{})
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[uint64](ctx, w.Team(), 1)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			<-release
		}
		for i := range uint64(3) {
			if w.Rank() == 0 {
				if i == 2 {
					for range 2 {
						short, cancel := context.WithTimeout(ctx, 3*time.Millisecond)
						err := s.Send(short, 1, 0, i)
						cancel()
						if !errors.Is(err, symmem.ErrTimeout) {
							return fmt.Errorf("without room: %v", err)
						}
					}
					close(release)
				}
				if err := s.Send(ctx, 1, 0, i); err != nil {
					return err
				}
			} else if v, err := s.Recv(ctx, 0, 0); err != nil || v != i {
				return fmt.Errorf("epoch %d: %d, %v", i, v, err)
			}
			if err := s.EndEpoch(ctx); err != nil {
				return err
			}
		}
		return s.Close(ctx)
	})
}

// TestCancelledEndOfLapMayBeRepeated: rank 1 comes late to the end of a lap.
func TestCancelledEndOfLapMayBeRepeated(t *testing.T) {
	release := make(chan struct{})
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[uint64](ctx, w.Team(), 1)
		if err != nil {
			return err
		}
		if err := startAt(ctx, w.Team(), s, lla2a.Lap-1); err != nil {
			return err
		}
		if w.Rank() == 0 {
			short, cancel := context.WithTimeout(ctx, 3*time.Millisecond)
			defer cancel()
			if err := s.EndEpoch(short); !errors.Is(err, symmem.ErrTimeout) {
				return fmt.Errorf("alone at the end of a lap: %v", err)
			}
			if err := s.Send(ctx, 1, 0, 1); !errors.Is(err, symmem.ErrUsage) {
				return fmt.Errorf("in a half-ended epoch: %v", err)
			}
			close(release)
		} else {
			<-release
		}
		if err := s.EndEpoch(ctx); err != nil {
			return err
		}
		if err := s.Bcast(ctx, 0, s.Epoch()); err != nil {
			return err
		}
		got := make([]uint64, 2)
		if err := s.RecvAll(ctx, 0, got); err != nil || got[0] != lla2a.Lap || got[1] != lla2a.Lap {
			return fmt.Errorf("after the lap: %v, %v", got, err)
		}
		return s.Close(ctx)
	})
}

func TestCloseAndAfter(t *testing.T) {
	run(t, 3, func(ctx context.Context, w *symmem.World) error {
		// As many sessions as a window could never hold at once.
		for range 30 {
			s, err := lla2a.Open[[100]byte](ctx, w.Team(), 500)
			if err != nil {
				return err
			}
			if err := s.Bcast(ctx, 7, [100]byte{1}); err != nil {
				return err
			}
			if err := s.Close(ctx); err != nil {
				return err
			}
			_, err = s.Recv(ctx, 0, 7)
			for what, err := range map[string]error{
				"send": s.Send(ctx, 0, 0, [100]byte{}), "bcast": s.Bcast(ctx, 0, [100]byte{}), "recv": err,
				"recvall": s.RecvAll(ctx, 0, make([][100]byte, 3)), "end": s.EndEpoch(ctx),
			} {
				if !errors.Is(err, symmem.ErrClosed) {
					return fmt.Errorf("%s after Close: %v", what, err)
				}
			}
			if err := s.Close(ctx); err != nil {
				return fmt.Errorf("a second Close: %w", err)
			}
		}
		// Nothing of the last session is found by the next.
		s, err := lla2a.Open[[100]byte](ctx, w.Team(), 500)
		if err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 2*time.Millisecond)
		defer cancel()
		if _, err := s.Recv(short, 0, 7); !errors.Is(err, symmem.ErrTimeout) {
			return fmt.Errorf("a new session received %v", err)
		}
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := s.Send(ctx, 0, 0, [100]byte{}); !errors.Is(err, symmem.ErrClosed) {
			return fmt.Errorf("after the world's end: %v", err)
		}
		return nil
	})
}

// TestSenderThatLeft: a receive of a rank that closed its world says so, one of
// what it had sent before succeeds.
func TestSenderThatLeft(t *testing.T) {
	run(t, 2, func(ctx context.Context, w *symmem.World) error {
		s, err := lla2a.Open[uint64](ctx, w.Team(), 2)
		if err != nil {
			return err
		}
		if w.Rank() == 1 {
			return s.Send(ctx, 0, 0, 42)
		}
		if _, err := s.Recv(ctx, 1, 1); !errors.Is(err, symmem.ErrLeft) {
			return fmt.Errorf("from nobody: %v", err)
		}
		if v, err := s.Recv(ctx, 1, 0); err != nil || v != 42 {
			return fmt.Errorf("last words: %d, %v", v, err)
		}
		return nil
	})
}
