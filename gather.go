package symwin

import (
	"context"

	"github.com/symwin/symwin/internal/reduce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Gather sends src to the rank root of team, which receives rank r's into the
// r-th part of dst. All ranks have equally long src; at root len(dst) ==
// Size·len(src). The other ranks' dst is not looked at, nil is as good as any.
//
// In place: root's src may be its own part of dst. Other overlaps are refused. A
// rank that is not the root may return before the root has everything, or only
// then; it may use src again. Since it may hear from nobody, a call of something else
// may be told by the next collective only. Memory, errors and concurrency as AllToAll.
// MPI_Gather.
func Gather[T any](ctx context.Context, team *Team, dst, src []T, root int) error {
	to, from := atRoot(team, root, window.Raw(dst)), window.Raw(src)
	if e, c := knownCallOf(team, symmem.OpGather, 0, root, typeWord[T](), len(to), len(from)); c != nil && canBe(to, from, root) {
		if c.lines {
			return named(symmem.OpGather, e.blocks.Gather(ctx, &c.call, to, from, root))
		}
		return named(symmem.OpGather, e.gatherByCopies(ctx, &c.call, to, from))
	}
	return newGather[T](ctx, team, dst, src, root)
}

// atRoot is p at the rank root, and nothing elsewhere.
func atRoot(team *Team, root int, p []byte) []byte {
	if team.Rank() == root {
		return p
	}
	return nil
}

func newGather[T any](ctx context.Context, team *Team, dst, src []T, root int) error {
	var call symmem.Record
	err := callOf[T](&call, symmem.OpGather, len(src))
	if err == nil {
		err = checkRoot(root, team.Size())
	}
	to, from := atRoot(team, root, window.Raw(dst)), window.Raw(src)
	if err == nil && team.Rank() == root {
		if err = checkBlocks("dst", len(dst), "src", len(src), team.Size()); err == nil {
			err = apart(to, from, root, "dst and src")
		}
	}
	if err == nil {
		call.Root = root
		err = gather(ctx, team, &call, to, from)
	}
	if err == nil {
		learn(team, &call, 0, typeWord[T](), len(to), len(from), reduce.Reduction{})
	}
	return named(symmem.OpGather, err)
}

func gather(ctx context.Context, team *Team, call *symmem.Record, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	if e.plan.lines(call, len(from)) {
		return e.blocks.Gather(ctx, call, to, from, call.Root)
	}
	return e.gatherByCopies(ctx, call, to, from)
}

func (e *engines) gatherByCopies(ctx context.Context, call *symmem.Record, to, from []byte) error {
	me, root := e.team.Rank(), call.Root
	return e.stream.ExchangeEach(ctx, call, func(r int) (src, dst []byte) {
		if r == root {
			src = from
		}
		if me == root {
			dst = block(to, r, len(from))
		}
		return src, dst
	})
}
