package symmem

import (
	"fmt"
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
)

// gate lets one operation at a time into a team, and tells World.Close whether
// one is inside: Close says that the world is closed and then looks at the gates;
// an operation goes through its gate, by a locked instruction, and then looks
// whether the world is closed. One of them sees the other, so no operation
// touches memory that Close has unmapped.
type gate struct{ busy uint32 }

func (g *gate) enter() bool { return atomic.CompareAndSwapUint32(&g.busy, 0, 1) }

// leave is a release, and the very last an operation does: behind it the region
// may be gone.
func (g *gate) leave() { line.StoreRelease32(&g.busy, 0) }

func (g *gate) idle() bool { return atomic.LoadUint32(&g.busy) == 0 }

func errBusy(what string) error {
	return fmt.Errorf("%w: another goroutine is inside an operation of this %s; one operation at a time (Split with one color makes a second team)", ErrUsage, what)
}
