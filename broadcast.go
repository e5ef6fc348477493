package symwin

import (
	"context"

	"github.com/symwin/symwin/internal/reduce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Broadcast sends buf at the rank root of team to every rank's buf. All have
// equally long buf.
//
// The root may return before the others have everything; it may use buf again.
// Memory, errors and concurrency as AllToAll; since a root hears from nobody, a
// call of something else may be told by the next collective only. MPI_Bcast; of a
// long one in windows the root writes as much as each of the others reads.
func Broadcast[T any](ctx context.Context, team *Team, buf []T, root int) error {
	p := window.Raw(buf)
	if e, c := knownCallOf(team, symmem.OpBroadcast, 0, root, typeWord[T](), len(p), len(p)); c != nil {
		if c.lines {
			return named(symmem.OpBroadcast, e.blocks.Broadcast(ctx, &c.call, p, root))
		}
		return named(symmem.OpBroadcast, e.broadcastByCopies(ctx, &c.call, p))
	}
	return newBroadcast[T](ctx, team, buf, root)
}

func newBroadcast[T any](ctx context.Context, team *Team, buf []T, root int) error {
	p := window.Raw(buf)
	var call symmem.Record
	err := callOf[T](&call, symmem.OpBroadcast, len(buf))
	if err == nil {
		err = checkRoot(root, team.Size())
	}
	if err == nil {
		call.Root = root
		err = broadcast(ctx, team, &call, p)
	}
	if err == nil {
		learn(team, &call, 0, typeWord[T](), len(p), len(p), reduce.Reduction{})
	}
	return named(symmem.OpBroadcast, err)
}

func broadcast(ctx context.Context, team *Team, call *symmem.Record, buf []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	if e.plan.lines(call, len(buf)) {
		return e.blocks.Broadcast(ctx, call, buf, call.Root)
	}
	return e.broadcastByCopies(ctx, call, buf)
}

func (e *engines) broadcastByCopies(ctx context.Context, call *symmem.Record, buf []byte) error {
	me, root := e.team.Rank(), call.Root
	return e.stream.ExchangeEach(ctx, call, func(r int) (src, dst []byte) {
		switch {
		case r == me:
		case me == root:
			src = buf
		case r == root:
			dst = buf
		}
		return src, dst
	})
}
