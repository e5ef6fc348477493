package symwin

import (
	"context"

	"github.com/symwin/symwin/internal/reduce"
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
	to, from := window.Raw(dst), atRoot(team, root, window.Raw(src))
	if e, c := knownCallOf(team, symmem.OpScatter, 0, root, typeWord[T](), len(to), len(from)); c != nil && canBe(from, to, root) {
		if c.lines {
			return named(symmem.OpScatter, e.blocks.Scatter(ctx, &c.call, to, from, root))
		}
		return named(symmem.OpScatter, e.scatterByCopies(ctx, &c.call, to, from))
	}
	return newScatter[T](ctx, team, dst, src, root)
}

func newScatter[T any](ctx context.Context, team *Team, dst, src []T, root int) error {
	var call symmem.Record
	err := callOf[T](&call, symmem.OpScatter, len(dst))
	if err == nil {
		err = checkRoot(root, team.Size())
	}
	to, from := window.Raw(dst), atRoot(team, root, window.Raw(src))
	if err == nil && team.Rank() == root {
		if err = checkBlocks("src", len(src), "dst", len(dst), team.Size()); err == nil {
			err = apart(from, to, root, "src and dst")
		}
	}
	if err == nil {
		call.Root = root
		err = scatter(ctx, team, &call, to, from)
	}
	if err == nil {
		learn(team, &call, 0, typeWord[T](), len(to), len(from), reduce.Reduction{})
	}
	return named(symmem.OpScatter, err)
}

func scatter(ctx context.Context, team *Team, call *symmem.Record, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	if e.plan.lines(call, len(to)) {
		return e.blocks.Scatter(ctx, call, to, from, call.Root)
	}
	return e.scatterByCopies(ctx, call, to, from)
}

func (e *engines) scatterByCopies(ctx context.Context, call *symmem.Record, to, from []byte) error {
	me, root := e.team.Rank(), call.Root
	return e.stream.ExchangeEach(ctx, call, func(r int) (src, dst []byte) {
		if r == root {
			dst = to
		}
		if me == root {
			src = block(from, r, len(to))
		}
		return src, dst
	})
}
