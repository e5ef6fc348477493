package symwin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

// engines is what the front door keeps for one team: both engines, opened by the
// team's first collective and used inside its lane, so one operation at a time.
type engines struct {
	blocks *lla2a.Blocks
	stream *ce.Stream
	ready  atomic.Bool // both are open
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
	e, _ := team.Attached().Load().(*engines)
	if e == nil {
		team.Attached().CompareAndSwap(nil, new(engines))
		e = team.Attached().Load().(*engines)
	}
	if e.ready.Load() {
		return e, nil
	}
	// Opening has two parts, and the lane lets others in between them.
	if !e.busy.TryLock() {
		return nil, errInside()
	}
	defer e.busy.Unlock()
	return e, e.open(ctx, team, call)
}

func (e *engines) open(ctx context.Context, team *Team, call symmem.Record) error {
	if e.ready.Load() {
		return nil
	}
	blocks, err := lla2a.OpenBlocks(ctx, team, call, smallBytes(team.Size()))
	if err != nil {
		return err
	}
	stream, err := ce.OpenFor(ctx, team, call, ce.Options{})
	if errors.Is(err, ErrNoSpace) {
		return errors.Join(err, blocks.Close(ctx)) // agreed: all give back what they have
	}
	if err != nil {
		return team.Revoke(err) // the others have opened their half
	}
	n := team.Size()
	e.blocks, e.stream = blocks, stream
	e.parts, e.counts, e.arrives = make([]ce.Part, n), make([]byte, 8*n), make([]byte, 8*n)
	e.ready.Store(true)
	return nil
}

// Close gives the engines' memory back: Team.Close calls it, again if it was
// itself given up.
func (e *engines) Close(ctx context.Context) error {
	if e.closed || !e.ready.Load() {
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

// part is one rank's side of an exchange with peer.
func part(_ *World, src, dst []byte) ce.Part { return ce.Part{Src: src, Dst: dst} }
