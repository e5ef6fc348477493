package ce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
)

// withStreams is run where every rank has opened a stream.
func withStreams(t *testing.T, n int, f func(context.Context, *symmem.World, *ce.Stream) error) {
	t.Helper()
	run(t, n, func(ctx context.Context, w *symmem.World) error {
		s, err := ce.Open(ctx, w.Team(), ce.Options{})
		if err != nil {
			return err
		}
		return f(ctx, w, s)
	})
}

// TestWhoHasDoneItsPartIsNotMissing: a peer whose last store came behind the last
// look has had all it wanted, and may have closed its world since.
func TestWhoHasDoneItsPartIsNotMissing(t *testing.T) {
	invited, sent, taken := make(chan struct{}), make(chan struct{}), make(chan struct{})
	message := message(100, 0, 1, 0)
	withStreams(t, 2, func(ctx context.Context, w *symmem.World, s *ce.Stream) error {
		call, parts := symmem.Record{Op: symmem.OpGather}, make([]ce.Part, 2)
		if w.Rank() == 0 {
			defer close(taken)
			parts[1].Dst = make([]byte, len(message))
			_, err := s.MissingBehind(ctx, call, parts, func(func() bool) { close(invited); <-sent }, nothing)
			if err == nil && !bytes.Equal(parts[1].Dst, message) {
				err = errors.New("wrong bytes")
			}
			return err
		}
		parts[0].Src = message
		missing, err := s.MissingBehind(ctx, call, parts, func(look func() bool) {
			<-invited
			for look() {
			}
			close(sent)
			<-taken
		}, nothing)
		if err == nil && len(missing) != 0 {
			err = fmt.Errorf("missing: %v", missing)
		}
		return err
	})
}

// TestMissingNamesWhoHasNotCome, also where another has just done its part.
func TestMissingNamesWhoHasNotCome(t *testing.T) {
	invited, sent, asked := make(chan struct{}), make(chan struct{}), make(chan struct{})
	withStreams(t, 3, func(ctx context.Context, w *symmem.World, s *ce.Stream) error {
		call, parts := symmem.Record{Op: symmem.OpGather}, make([]ce.Part, 3)
		switch w.Rank() {
		case 0:
			missing, err := s.MissingBehind(ctx, call, parts, func(func() bool) { close(invited); <-sent }, func() { close(asked) })
			if err == nil && !slices.Equal(missing, []int{2}) {
				err = fmt.Errorf("missing: %v", missing)
			}
			return err
		case 1:
			_, err := s.MissingBehind(ctx, call, parts, func(look func() bool) {
				<-invited
				for look() {
				}
				close(sent)
			}, nothing)
			return err
		}
		<-asked
		return s.Exchange(ctx, call, parts, false, nil)
	})
}

// TestWhoseShareHasComeIsNotMissing, although it lies there unfolded for want of another
// one: its sender may have left.
func TestWhoseShareHasComeIsNotMissing(t *testing.T) {
	sent, asked := make(chan struct{}), make(chan struct{})
	withStreams(t, 3, func(ctx context.Context, w *symmem.World, s *ce.Stream) error {
		call, parts := symmem.Record{Op: symmem.OpReduce}, make([]ce.Part, 3)
		parts[2].Src = message(100, 0, w.Rank(), 2)
		n, sum := 0, &hash{}
		if w.Rank() == 2 {
			n, sum.out = 100, make([]byte, 100)
		}
		missing, err := s.FoldMissingBehind(ctx, call, parts, n, sum, func(look func() bool) {
			switch w.Rank() {
			case 0:
				for s.Sent(2) == 0 {
					look()
				}
				close(sent)
			case 1:
				<-asked
			case 2:
				<-sent
				for look() {
				}
			}
		}, func() {
			if w.Rank() == 2 {
				close(asked)
			}
		})
		if err == nil && w.Rank() == 2 && !slices.Equal(missing, []int{1}) {
			err = fmt.Errorf("missing: %v", missing)
		}
		return err
	})
}

func nothing() {}

// TestAnEdgeThatCannotBeIsSettledByNobody: not when it is found out while somebody
// asks who is missing, either.
func TestAnEdgeThatCannotBeIsSettledByNobody(t *testing.T) {
	for _, before := range []int{0, 100, 200_000} { // what the edges carried last
		invited, looked := make(chan struct{}), make(chan struct{})
		withStreams(t, 2, func(ctx context.Context, w *symmem.World, s *ce.Stream) error {
			call, parts := symmem.Record{Op: symmem.OpGather}, make([]ce.Part, 2)
			parts[1-w.Rank()] = ce.Part{Src: make([]byte, before), Dst: make([]byte, before)}
			if err := s.Exchange(ctx, call, parts, false, nil); err != nil {
				return err
			}
			clear(parts)
			var err error
			if w.Rank() == 0 {
				defer close(looked)
				parts[1].Src = make([]byte, 10_000)
				_, err = s.MissingBehind(ctx, call, parts, func(func() bool) { <-invited }, nothing)
			} else {
				parts[0].Dst = make([]byte, 5_000)
				_, err = s.MissingBehind(ctx, call, parts, func(func() bool) { close(invited); <-looked }, nothing)
			}
			if !errors.Is(err, symmem.ErrMismatch) {
				return fmt.Errorf("%d bytes before: %w", before, err)
			}
			return nil
		})
	}
}

// An edge only waits when this rank has sent its part, and has nothing to read. Until
// then the own part is copied in pieces, between looks.
func TestWhoHasToReadDoesMoreThanWait(t *testing.T) {
	for _, c := range []struct{ settled, sent, written, read, want bool }{
		{true, true, true, false, true},   // the peer writes here
		{true, true, false, true, true},   // read already
		{true, true, false, false, false}, // to be read
		{true, false, true, false, false}, // to be sent
		{false, true, true, false, false}, // nothing is known
	} {
		require.Equal(t, c.want, ce.OnlyWaits(c.settled, c.sent, c.written, c.read), "%+v", c)
	}
}
