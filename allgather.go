package symwin

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// AllGather sends src to every rank of team, and receives rank r's src into the
// r-th part of dst. All ranks have equally long src: len(dst) == Size·len(src).
//
// In place: src may be this rank's own part of dst, then it stays where it is.
// Other overlaps are refused. Memory, errors and concurrency as AllToAll.
// MPI_Allgather.
func AllGather[T any](ctx context.Context, team *Team, dst, src []T) error {
	call, err := callOf[T](symmem.OpAllGather, len(src))
	if err == nil {
		err = checkBlocks("dst", len(dst), "src", len(src), team.Size())
	}
	to, from := window.Raw(dst), window.Raw(src)
	if err == nil {
		err = apart(to, from, block(to, team.Rank(), len(from)), "dst and src")
	}
	if err == nil {
		err = allGather(ctx, team, call, to, from)
	}
	return named(symmem.OpAllGather, err)
}

func allGather(ctx context.Context, team *Team, call symmem.Record, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	if e.plan.lines(&call, len(from)) {
		return e.blocks.AllGather(ctx, call, to, from)
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	for r := range e.parts {
		e.parts[r] = ce.Part{Src: from, Dst: block(to, r, len(from))}
	}
	return e.exchange(ctx, call)
}

// AllGatherv is AllGather with src of any lengths, which nobody else has to know
// before: dstCounts[r] is set to the length of rank r's src, and dst receives them
// packed in rank order. What dst has beyond that is left as it was.
//
// If dst is too short on any rank, all ranks get the same *TooShortError naming
// the first such rank; nothing is copied, the team goes on, and dstCounts says
// what would have come. src and dst do not overlap. Otherwise as AllGather.
// MPI_Allgatherv.
func AllGatherv[T any](ctx context.Context, team *Team, dst []T, dstCounts []int, src []T) error {
	call, err := callOf[T](symmem.OpAllGatherv, 0)
	to, from := window.Raw(dst), window.Raw(src)
	switch {
	case err != nil:
	case len(dstCounts) != team.Size():
		err = usage("%d counts of dst for a team of %d", len(dstCounts), team.Size())
	case window.Overlap(to, from):
		err = usage("dst and src overlap")
	default:
		err = allGatherv(ctx, team, call, to, len(dst), dstCounts, from, len(src))
	}
	return named(symmem.OpAllGatherv, err)
}

// allGatherv tells everybody, through lines, what each rank has and how much it
// can take: so all know before the first copy whether it comes to that.
func allGatherv(ctx context.Context, team *Team, call symmem.Record, to []byte, have int, dstCounts []int, from []byte, count int) error {
	e, err := enginesOf(ctx, team, call)
	if err == nil {
		err = e.enter()
	}
	if err != nil {
		return err
	}
	defer e.leave()
	mine := e.counts[:16]
	binary.LittleEndian.PutUint64(mine, uint64(count))
	binary.LittleEndian.PutUint64(mine[8:], uint64(have))
	call.Engine = symmem.EngineLL64
	if err := e.blocks.AllGather(ctx, call, e.arrives, mine); err != nil {
		return err
	}
	need, most := 0, 0
	for r := range dstCounts {
		c := binary.LittleEndian.Uint64(e.arrives[16*r:])
		if c > maxCount {
			return team.Revoke(fmt.Errorf("%w: rank %d sends a count of %d", ErrRegion, team.WorldRank(r), c))
		}
		dstCounts[r] = int(c)
		need, most = need+int(c), max(most, int(c))
	}
	for r := range dstCounts {
		if has := binary.LittleEndian.Uint64(e.arrives[16*r+8:]); uint64(need) > has {
			return &TooShortError{Rank: r, Need: need, Have: int(has)}
		}
	}
	for r := range e.parts {
		d := dstCounts[r] * call.EltSize
		e.parts[r] = ce.Part{Src: from, Dst: to[:d]}
		to = to[d:]
	}
	call.Engine = symmem.EngineCE
	return e.then(e.exchange(ctx, call))
}
