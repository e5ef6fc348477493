package symwin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// engines is what the front door keeps for one team: both engines, opened by the
// team's first collective and used inside its lane, so one operation at a time.
type engines struct {
	blocks *lla2a.Blocks
	stream *ce.Stream
	closed bool

	// Memory of the steady state, and who may use it: the lane would refuse a
	// second goroutine only after it had written here.
	busy    sync.Mutex
	parts   []ce.Part
	counts  []byte // v: what this rank sends to each, and what each sends here
	arrives []byte
}

// enginesOf returns the team's engines. The first call opens them and is
// collective, as the call is that needs them: a rank that calls something else
// meanwhile is found as in any collective.
func enginesOf(ctx context.Context, team *Team, call symmem.Record) (*engines, error) {
	if e, ok := team.Attached().Load().(*engines); ok {
		return e, nil
	}
	return openEngines(ctx, team, call)
}

func openEngines(ctx context.Context, team *Team, call symmem.Record) (*engines, error) {
	blocks, err := lla2a.OpenBlocks(ctx, team, call, smallBytes)
	if err != nil {
		return nil, err
	}
	stream, err := ce.OpenFor(ctx, team, call, ce.Options{})
	if errors.Is(err, ErrNoSpace) {
		return nil, errors.Join(err, blocks.Close(ctx)) // agreed: all give back what they have
	}
	if err != nil {
		return nil, team.Revoke(err) // the others have opened their half
	}
	n := team.Size()
	e := &engines{
		blocks: blocks, stream: stream,
		parts:  make([]ce.Part, n),
		counts: make([]byte, 8*n), arrives: make([]byte, 8*n),
	}
	team.Attached().Store(e)
	return e, nil
}

// Close gives the engines' memory back: Team.Close calls it, again if it was
// itself given up.
func (e *engines) Close(ctx context.Context) error {
	if e.closed {
		return nil
	}
	err := errors.Join(e.stream.Close(ctx), e.blocks.Close(ctx))
	e.closed = err == nil
	return err
}

// exchange carries e.parts, and then forgets the caller's memory.
func (e *engines) exchange(ctx context.Context, call symmem.Record, votes bool, refuse *ce.Refusal) error {
	defer clear(e.parts)
	return e.stream.Exchange(ctx, call, e.parts, votes, refuse)
}

func errInside() error {
	return fmt.Errorf("%w: another goroutine is inside a collective of this team; Split with one color makes a second team", ErrUsage)
}

// part is one rank's side of an exchange with peer: where the destination lies
// in a window, the sender will write there itself.
func part(w *World, src, dst []byte) ce.Part {
	p := ce.Part{Src: src, Dst: dst}
	if len(dst) > 0 {
		p.At, p.InWindow = window.Find(w, dst)
	}
	return p
}
