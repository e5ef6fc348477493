package symwin

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

// engines is what the front door keeps for one team: both engines, opened by the
// team's first collective and used inside its lane, so one operation at a time.
type engines struct {
	team   *Team
	plan   *plan
	blocks *lla2a.Blocks
	stream *ce.Stream
	ready  atomic.Bool // both are open
	closed bool

	// busy is 1 during an operation of two calls, or one that uses the memory below:
	// the lane would refuse a second goroutine only after it had written there, and not
	// between the calls. Others ask it before they enter the lane (inside), which
	// finds whoever was not about to do so at the very moment.
	busy  uint32
	known known

	// Memory of the steady state.
	parts   []ce.Part
	fold    fold
	spare   []byte // for parts that are padded
	counts  []byte // v: what this rank sends to each, and what each sends here
	arrives []byte
}

// enginesOf returns the team's engines. The first call opens them and is
// collective, as the call is that needs them: a rank that calls something else
// meanwhile is found as in any collective. Beside an operation of two calls it lets
// nobody in, whom the lane would, between the two.
func enginesOf(ctx context.Context, team *Team, call *symmem.Record) (*engines, error) {
	if e := opened(team); e != nil {
		if e.inside() {
			return nil, errInside()
		}
		return e, nil
	}
	return openEngines(ctx, team, call)
}

// opened returns the team's engines if they are open, else nil.
func opened(team *Team) *engines {
	if e, _ := team.Attached().Load().(*engines); e != nil && e.ready.Load() {
		return e
	}
	return nil
}

func openEngines(ctx context.Context, team *Team, call *symmem.Record) (*engines, error) {
	team.Attached().CompareAndSwap(nil, &engines{team: team})
	e := team.Attached().Load().(*engines)
	// Opening has two parts, and the lane lets others in between them.
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	return e, e.open(ctx, call)
}

func (e *engines) open(ctx context.Context, call *symmem.Record) error {
	if e.ready.Load() {
		return nil
	}
	team := e.team
	plan, err := planFor(team)
	if err != nil {
		return err
	}
	// Join has compared the tables, but not every world comes through it.
	opens := *call
	opens.Digest ^= plan.digest
	blocks, err := lla2a.OpenBlocks(ctx, team, opens, plan.most)
	if err != nil {
		return err
	}
	stream, err := ce.OpenFor(ctx, team, opens, ce.Options{})
	if errors.Is(err, ErrNoSpace) {
		// Agreed: all give back what they have, or none waits for who cannot.
		if closing := blocks.Close(ctx); closing != nil {
			return team.Revoke(closing)
		}
		return err
	}
	if err != nil {
		return team.Revoke(err) // the others have opened their half
	}
	n := team.Size()
	e.plan, e.blocks, e.stream = plan, blocks, stream
	e.parts = make([]ce.Part, n)
	e.counts, e.arrives = make([]byte, max(8*n, countsBytes)), make([]byte, countsBytes*n)
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

// inside reports whether an operation that says so is under way.
func (e *engines) inside() bool { return atomic.LoadUint32(&e.busy) != 0 }

// enter is for operations of two calls, and those that need the memory of the steady
// state.
func (e *engines) enter() error {
	if !atomic.CompareAndSwapUint32(&e.busy, 0, 1) {
		return errInside()
	}
	return nil
}

// leave is a release. A mutex, for which nobody waits here, would take a locked
// instruction for it, which waits until the operation's stores have left the
// processor: 10 ns.
func (e *engines) leave() { line.StoreRelease32(&e.busy, 0) }

// exchange carries e.parts, and then forgets the caller's memory.
func (e *engines) exchange(ctx context.Context, call *symmem.Record) error {
	defer clear(e.parts)
	return e.stream.Exchange(ctx, *call, e.parts, false, nil)
}

// then is the error of a call behind another one of the same operation: peers
// have made their first step and wait for this one, unless they got the error too.
func (e *engines) then(err error) error {
	if err != nil && !errors.Is(err, ErrTooShort) && !errors.Is(err, ErrNoSpace) {
		return e.team.Revoke(err)
	}
	return err
}

// spareBytes is n bytes of scratch memory.
func (e *engines) spareBytes(n int) []byte {
	if len(e.spare) < n {
		e.spare = make([]byte, n)
	}
	return e.spare[:n]
}

func errInside() error {
	return fmt.Errorf("%w: another goroutine is inside a collective of this team; Split with one color makes a second team", ErrUsage)
}

// block is the r-th of blocks of size bytes.
func block(p []byte, r, size int) []byte { return p[r*size : (r+1)*size : (r+1)*size] }

// share is the r-th of n parts of p, as even as whole cache lines allow, so that
// no element is cut; the last ones may be shorter, or empty.
func share(p []byte, r, n int) []byte {
	size := ((len(p)+n-1)/n + shareBytes - 1) / shareBytes * shareBytes
	lo := min(r*size, len(p))
	hi := min(lo+size, len(p))
	return p[lo:hi:hi]
}

const shareBytes = 128

// step2 is the record of an operation's second call.
func step2(call *symmem.Record) *symmem.Record {
	second := *call
	second.Digest += symmem.Details{Step: 1}.Digest() - symmem.Details{}.Digest()
	return &second
}

// maxCount is the largest count a peer may name: no region holds more bytes.
const maxCount = 1 << 46
