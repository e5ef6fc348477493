package symmem

import (
	"fmt"
	"sync/atomic"
)

// gate lets one operation at a time into a team, session or stream, and tells
// Close whether one is inside.
//
// Its two locked instructions are not spent for that alone: the exchange in
// leave is the full barrier that must stand between an operation's stores and
// its look at the doorbells of those it wrote to.
type gate struct{ busy atomic.Uint32 }

func (g *gate) enter() bool { return g.busy.CompareAndSwap(0, 1) }

func (g *gate) leave() { g.busy.Store(0) }

func (g *gate) idle() bool { return g.busy.Load() == 0 }

func errBusy(what string) error {
	return fmt.Errorf("%w: another goroutine is inside an operation of this %s; one operation at a time (Split with one color makes a second team)", ErrUsage, what)
}
