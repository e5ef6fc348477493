package symwin

import (
	"context"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Gather sends src to the rank root of team, which receives rank r's into the
// r-th part of dst. All ranks have equally long src; at root len(dst) ==
// Size·len(src). The other ranks' dst is not looked at, nil is as good as any.
//
// In place: root's src may be its own part of dst. Other overlaps are refused. A
// rank that is not the root may return before the root has everything, or only
// then; it may use src again. Memory, errors and concurrency as AllToAll.
// MPI_Gather.
func Gather[T any](ctx context.Context, team *Team, dst, src []T, root int) error {
	call, err := callOf[T](symmem.OpGather, len(src))
	if err == nil {
		err = checkRoot(root, team.Size())
	}
	var to []byte
	from := window.Raw(src)
	if err == nil && team.Rank() == root {
		to = window.Raw(dst)
		if err = checkBlocks("dst", len(dst), "src", len(src), team.Size()); err == nil {
			err = apart(to, from, block(to, root, len(from)), "dst and src")
		}
	}
	if err == nil {
		call.Root = root
		err = gather(ctx, team, call, to, from)
	}
	return named(symmem.OpGather, err)
}

// gather through lines is an all-gather: what is posted once costs its sender
// nothing more if all look at it.
func gather(ctx context.Context, team *Team, call symmem.Record, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err == nil {
		err = e.enter()
	}
	if err != nil {
		return err
	}
	defer e.leave()
	n, size, here := team.Size(), len(from), team.Rank() == call.Root
	if e.plan.lines(&call, size) {
		if !here {
			to = e.spareBytes(n * size)
		}
		return e.blocks.AllGather(ctx, call, to, from)
	}
	e.parts[call.Root].Src = from
	if here {
		for r := range e.parts {
			e.parts[r].Dst = block(to, r, size)
		}
	}
	return e.exchange(ctx, call)
}
