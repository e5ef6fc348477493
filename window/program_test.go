package window_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// held is an allocation of the random program: of the world, or of a team.
type held struct {
	id   int
	win  *window.Window[byte]
	area *window.Area
}

func (h *held) local() []byte {
	if h.win != nil {
		return h.win.Local()
	}
	return h.area.Local()
}

func (h *held) peer(r int) []byte {
	if h.win != nil {
		return h.win.Peer(r)
	}
	return h.area.Peer(r)
}

func (h *held) release(ctx context.Context) error {
	if h.win != nil {
		return h.win.Free(ctx)
	}
	return h.area.Close(ctx)
}

// program makes steps random allocations and frees, which all ranks draw alike:
// windows of the world, areas of the world's team and of the two halves. Every
// member fills its part of each peer's memory, and everything alive is verified
// before it is given back and at the end. Sizes are such that some are refused.
func program(ctx context.Context, w *symmem.World, seed uint64, steps int) error {
	half, err := w.Team().Split(ctx, w.Rank()%2, 0)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	limit := int(w.Geometry().Window) / 4
	var alive []*held
	refused := 0
	for id := range steps {
		what, size := rng.IntN(5), 1+rng.IntN(limit)
		if rng.IntN(2) == 0 {
			size = 1 + rng.IntN(10_000)
		}
		x := &held{id: id}
		switch which := rng.IntN(1 << 20); {
		case what < 2 && len(alive) > 0:
			i := which % len(alive)
			if err := errors.Join(verify(alive[i], w), alive[i].release(ctx)); err != nil {
				return err
			}
			alive = append(alive[:i], alive[i+1:]...)
			continue
		case what == 2:
			x.area, err = window.OpenArea(ctx, w.Team(), opening(uint64(id)), int64(size))
		case what == 3:
			// The halves ask for different sizes, so their members drift apart.
			x.area, err = window.OpenArea(ctx, half, opening(uint64(id)), int64(size)/int64(1+w.Rank()%2))
		default:
			x.win, err = window.Alloc[byte](ctx, w, size)
		}
		// Only one of the halves may be refused; then both give it up.
		if what == 3 {
			err = both(ctx, w, x.area, err)
		}
		if errors.Is(err, symmem.ErrNoSpace) {
			refused++
			continue
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", id, err)
		}
		if !zero(x.local()) {
			return fmt.Errorf("step %d: new memory is not zero", id)
		}
		if err := w.Team().Barrier(ctx); err != nil { // all have looked
			return err
		}
		fill(x, w)
		if err := w.Team().Barrier(ctx); err != nil {
			return err
		}
		alive = append(alive, x)
	}
	for _, x := range alive {
		if err := verify(x, w); err != nil {
			return err
		}
	}
	if refused == 0 || refused > steps/2 {
		return fmt.Errorf("%d of %d steps were refused: the sizes test nothing", refused, steps)
	}
	return nil
}

// both makes the world agree on whether both halves got their area.
func both(ctx context.Context, w *symmem.World, a *window.Area, err error) error {
	if err != nil && !errors.Is(err, symmem.ErrNoSpace) {
		return err
	}
	color := 0
	if err != nil {
		color = 1
	}
	same, splitErr := w.Team().Split(ctx, color, 0)
	if splitErr != nil {
		return splitErr
	}
	agreed := same.Size() == w.Size()
	if err := same.Close(ctx); err != nil || agreed {
		return errors.Join(err, errAgain(color))
	}
	if a != nil {
		if err := a.Close(ctx); err != nil {
			return err
		}
	}
	return symmem.ErrNoSpace
}

func errAgain(color int) error {
	if color == 1 {
		return symmem.ErrNoSpace
	}
	return nil
}

func members(x *held, w *symmem.World) (n, me int) {
	if x.area != nil {
		return x.area.Team().Size(), x.area.Team().Rank()
	}
	return w.Size(), w.Rank()
}

// fill writes this rank's part of every member's memory.
func fill(x *held, w *symmem.World) {
	n, me := members(x, w)
	for to := range n {
		b := x.peer(to)
		part := b[me*len(b)/n : (me+1)*len(b)/n]
		pattern(part, me, to, x.id)
	}
}

func verify(x *held, w *symmem.World) error {
	n, me := members(x, w)
	b := x.local()
	want := make([]byte, len(b))
	for from := range n {
		pattern(want[from*len(b)/n:(from+1)*len(b)/n], from, me, x.id)
	}
	if !bytes.Equal(b, want) {
		return fmt.Errorf("allocation %d of %d bytes: contents differ", x.id, len(b))
	}
	return nil
}
