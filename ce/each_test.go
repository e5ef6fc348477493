package ce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// TestPartsAreAskedForInRankOrder, once of each member where it is no pair that asks
// (pair_test.go), and the bytes are theirs.
func TestPartsAreAskedForInRankOrder(t *testing.T) {
	const size = 9000
	withStreams(t, 3, func(ctx context.Context, w *symmem.World, s *ce.Stream) error {
		for round := range 5 {
			parts, asked := partsFor(w, round, size), []byte{}
			err := s.ExchangeEach(ctx, &allToAllCall, func(r int) ([]byte, []byte) {
				asked = append(asked, byte(r))
				return parts[r].Src, parts[r].Dst
			})
			if err != nil {
				return err
			}
			if !bytes.Equal(asked, []byte{0, 1, 2}) {
				return fmt.Errorf("asked for %v", asked)
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

// TestAPanicInAPartIsLocal: nobody was told of the call, and the stream goes on.
func TestAPanicInAPartIsLocal(t *testing.T) {
	withStreams(t, 2, func(ctx context.Context, w *symmem.World, s *ce.Stream) error {
		for round := range 3 {
			err := s.ExchangeEach(ctx, &allToAllCall, func(r int) ([]byte, []byte) {
				if r == w.Rank() {
					panic("no such part")
				}
				return nil, nil
			})
			var panicked *ce.PanicError
			if !errors.As(err, &panicked) || panicked.Value != "no such part" {
				return fmt.Errorf("round %d: %v", round, err)
			}
			if err := s.Exchange(ctx, allToAllCall, partsFor(w, round, 100), false, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestNothingOfTheCallersIsKept behind a call, whether it ended well or was refused.
func TestNothingOfTheCallersIsKept(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		withStreams(t, n, func(ctx context.Context, w *symmem.World, s *ce.Stream) error {
			for _, size := range []int{10, 20_000, 1 << 20} {
				for _, f := range []fresh{{}, {longer: 1}, {inPlace: true}} {
					freed := make(chan struct{}, 2)
					if err := f.exchange(ctx, w, s, size, freed); err != nil {
						return err
					}
					for range cap(freed) {
						if err := collected(ctx, freed); err != nil {
							return fmt.Errorf("%d bytes, %+v: %w", size, f, err)
						}
					}
				}
			}
			return nil
		})
	}
}

// fresh is an exchange of memory of its own.
type fresh struct {
	longer  int  // dst than src: refused
	inPlace bool // the own part lies where it is to be
}

// exchange makes it, and tells when the memory is gone.
func (f fresh) exchange(ctx context.Context, w *symmem.World, s *ce.Stream, size int, freed chan<- struct{}) error {
	src, dst := make([]byte, size*w.Size()), make([]byte, (size+f.longer)*w.Size())
	for _, b := range [][]byte{src, dst} {
		runtime.SetFinalizer(&b[0], func(*byte) { freed <- struct{}{} })
	}
	err := s.ExchangeEach(ctx, &allToAllCall, func(r int) ([]byte, []byte) {
		from, to := src[r*size:][:size], dst[r*(size+f.longer):][:size+f.longer]
		if f.inPlace && r == w.Rank() {
			from = to
		}
		return from, to
	})
	if f.longer > 0 && errors.Is(err, symmem.ErrUsage) {
		return nil
	}
	return err
}

func collected(ctx context.Context, freed <-chan struct{}) error {
	for {
		runtime.GC()
		select {
		case <-freed:
			return nil
		case <-ctx.Done():
			return errors.New("the stream still has the caller's memory")
		case <-time.After(time.Millisecond):
		}
	}
}

// TestWhoRefusesSendsAsItSays: rank 0 has no room for staging any more, and its memory
// was read by the kernel before. What it still sends goes the way that rank 1 sees in its
// refusal, or each would wait for the other's next step.
func TestWhoRefusesSendsAsItSays(t *testing.T) {
	for _, size := range []int{3000, 20_000} {
		run(t, 2, func(ctx context.Context, w *symmem.World) error {
			return inWindow(ctx, w, func(win *window.Window[byte]) error {
				s, err := ce.OpenFor(ctx, w.Team(), allToAllCall, ce.Options{})
				if err != nil {
					return err
				}
				src, private := make([]byte, 2*size), make([]byte, 2*size)
				exchange := func(dst []byte) error {
					return s.ExchangeEach(ctx, &allToAllCall, func(r int) ([]byte, []byte) {
						return src[r*size:][:size], dst[r*size:][:size]
					})
				}
				first := private // rank 1 has its ring from the first on
				if w.Rank() == 0 {
					first = win.Local()[:2*size]
				}
				for range 3 {
					if err := exchange(first); err != nil {
						return err
					}
				}
				for piece := int64(16 << 20); w.Rank() == 0 && piece >= 4096; {
					if _, err := window.TakeScratch(w, piece); err != nil {
						piece /= 2
					}
				}
				if err := exchange(private); !errors.Is(err, symmem.ErrNoSpace) {
					return fmt.Errorf("%d bytes, rank %d: %v", size, w.Rank(), err)
				}
				return exchange(first)
			})
		})
	}
}
