package symwin

import (
	"context"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Scatter sends the r-th part of src at the rank root of team to rank r, which
// receives it into dst. All ranks have equally long dst; at root len(src) ==
// Size·len(dst). The other ranks' src is not looked at, nil is as good as any.
//
// In place: root's dst may be its own part of src. Other overlaps are refused.
// The root may return before the others have everything; it may use src again.
// Memory, errors and concurrency as AllToAll. MPI_Scatter.
func Scatter[T any](ctx context.Context, team *Team, dst, src []T, root int) error {
	call, err := callOf[T](symmem.OpScatter, len(dst))
	if err == nil {
		err = checkRoot(root, team.Size())
	}
	var from []byte
	to := window.Raw(dst)
	if err == nil && team.Rank() == root {
		from = window.Raw(src)
		if err = checkBlocks("src", len(src), "dst", len(dst), team.Size()); err == nil {
			err = apart(from, to, block(from, root, len(to)), "src and dst")
		}
	}
	if err == nil {
		call.Root = root
		err = scatter(ctx, team, call, to, from)
	}
	return named(symmem.OpScatter, err)
}

// scatter through lines is a broadcast of all parts, of which each takes its own.
func scatter(ctx context.Context, team *Team, call symmem.Record, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err == nil {
		err = e.enter()
	}
	if err != nil {
		return err
	}
	defer e.leave()
	n, me, size, here := team.Size(), team.Rank(), len(to), team.Rank() == call.Root
	if e.plan.lines(&call, size) {
		if !here {
			from = e.spareBytes(n * size)
		}
		if err := e.blocks.Broadcast(ctx, call, from, call.Root); err != nil {
			return err
		}
		copy(to, block(from, me, size))
		return nil
	}
	e.parts[call.Root].Dst = to
	if here {
		for r := range e.parts {
			e.parts[r].Src = block(from, r, size)
		}
	}
	return e.exchange(ctx, call)
}
