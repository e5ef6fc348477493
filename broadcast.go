package symwin

import (
	"context"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Broadcast sends buf at the rank root of team to every rank's buf. All have
// equally long buf.
//
// The root may return before the others have everything; it may use buf again.
// Memory, errors and concurrency as AllToAll; since a root hears from nobody, a
// call of something else may be told by the next collective only. MPI_Bcast; a
// long one to many ranks is van de Geijn's: scattered, then gathered by all.
func Broadcast[T any](ctx context.Context, team *Team, buf []T, root int) error {
	call, err := callOf[T](symmem.OpBroadcast, len(buf))
	if err == nil {
		err = checkRoot(root, team.Size())
	}
	if err == nil {
		call.Root = root
		err = broadcast(ctx, team, call, window.Raw(buf))
	}
	return named(symmem.OpBroadcast, err)
}

func broadcast(ctx context.Context, team *Team, call symmem.Record, buf []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	if e.plan.lines(&call, len(buf)) {
		return e.blocks.Broadcast(ctx, call, buf, call.Root)
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	if len(buf) > e.plan.of[call.Op].direct {
		return e.broadcastInShares(ctx, call, buf)
	}
	if team.Rank() != call.Root {
		e.parts[call.Root].Dst = buf
		return e.exchange(ctx, call)
	}
	for r := range e.parts {
		if r != call.Root {
			e.parts[r].Src = buf
		}
	}
	return e.exchange(ctx, call)
}

// broadcastInShares gives each of the others a share of buf, which they then give
// to each other: the root sends everything once, not to each.
func (e *engines) broadcastInShares(ctx context.Context, call symmem.Record, buf []byte) error {
	n, me, root := len(e.parts), e.team.Rank(), call.Root
	of := func(r int) []byte { // counted from behind the root
		return share(buf, (r-root+n-1)%n, n-1)
	}
	if me != root {
		e.parts[root].Dst = of(me)
	} else {
		for r := range e.parts {
			if r != root {
				e.parts[r].Src = of(r)
			}
		}
	}
	if err := e.exchange(ctx, call); err != nil {
		return err
	}
	if me != root {
		for r := range e.parts {
			if r != root && r != me {
				e.parts[r] = ce.Part{Src: of(me), Dst: of(r)}
			}
		}
	}
	return e.then(e.exchange(ctx, step2(call)))
}
