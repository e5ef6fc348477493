package symwin

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/reduce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// AllToAll sends the r-th part of src to rank r of team, and receives rank r's
// part for this rank into the r-th part of dst. Both have Size parts of equal
// length, the same on all ranks: len(dst) == len(src), a multiple of Size.
//
// dst and src may be any memory, and do not overlap. T is free of pointers. A
// dst that lies in a window (Alloc) is written by its senders directly, a src
// that does is read by receivers whose dst does not. It returns when dst is
// complete and src may be used again. The steady state allocates nothing. One
// operation at a time per team.
//
// Errors: ErrUsage, local, before anything is stored; ErrMismatch if ranks call
// different things; and the failures of peers (package doc). MPI_Alltoall; the
// two ways are NCCL's LL and copy-engine all-to-alls.
func AllToAll[T any](ctx context.Context, team *Team, dst, src []T) error {
	to, from := window.Raw(dst), window.Raw(src)
	if e, c := knownCallOf(team, symmem.OpAllToAll, 0, 0, typeWord[T](), len(to), len(from)); c != nil && !window.Overlap(to, from) {
		if c.lines {
			return named(symmem.OpAllToAll, e.blocks.AllToAll(ctx, &c.call, to, from, c.size))
		}
		return named(symmem.OpAllToAll, e.allToAllByCopies(ctx, &c.call, to, from, c.size))
	}
	return newAllToAll[T](ctx, team, dst, src)
}

// newAllToAll is a call of which nothing is known.
func newAllToAll[T any](ctx context.Context, team *Team, dst, src []T) error {
	to, from := window.Raw(dst), window.Raw(src)
	each, even := team.Even(len(src))
	var call symmem.Record
	err := callOf[T](&call, symmem.OpAllToAll, each)
	switch {
	case err != nil:
	case !even || len(dst) != len(src):
		err = usage("dst has %d elements, src %d; both must have the same multiple of %d", len(dst), len(src), team.Size())
	case window.Overlap(to, from):
		err = usage("dst and src overlap")
	default:
		if err = allToAll(ctx, team, &call, to, from); err == nil {
			learn(team, &call, 0, typeWord[T](), len(to), len(from), reduce.Reduction{})
		}
	}
	return named(symmem.OpAllToAll, err)
}

func allToAll(ctx context.Context, team *Team, call *symmem.Record, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	size := call.EltSize * int(call.Count)
	if e.plan.lines(call, size) {
		return e.blocks.AllToAll(ctx, call, to, from, size)
	}
	return e.allToAllByCopies(ctx, call, to, from, size)
}

func (e *engines) allToAllByCopies(ctx context.Context, call *symmem.Record, to, from []byte, size int) error {
	return e.stream.ExchangeEach(ctx, call, func(r int) (src, dst []byte) {
		return block(from, r, size), block(to, r, size)
	})
}

// AllToAllv is AllToAll with parts of any lengths: srcCounts[r] elements of src go
// to rank r; src holds them packed in rank order. The counts are exchanged first;
// dstCounts[r] is set to what rank r sends here, and dst receives it packed in
// rank order. What dst has beyond that is left as it was. dstCounts overlaps nothing else
// that is given.
//
// If dst is too short on any rank, all ranks get the same *TooShortError naming
// that rank, what it needs and what it has; nothing is copied, the team goes on,
// and dstCounts says what would have come. Otherwise as AllToAll. MPI_Alltoallv,
// but for the counts of the receiving side, which nobody has to know before.
func AllToAllv[T any](ctx context.Context, team *Team, dst []T, dstCounts []int, src []T, srcCounts []int) error {
	n := team.Size()
	var call symmem.Record
	err := callOf[T](&call, symmem.OpAllToAllv, 0)
	to, from := window.Raw(dst), window.Raw(src)
	if err == nil {
		err = checkCounts(len(dstCounts), srcCounts, len(src), n)
	}
	switch {
	case err != nil:
	case window.Overlap(to, from):
		err = usage("dst and src overlap")
	case overlapAny(dstCounts, srcCounts, to, from):
		err = usage("dstCounts overlaps srcCounts, dst or src")
	default:
		err = allToAllv(ctx, team, &call, to, len(dst), dstCounts, from, srcCounts)
	}
	return named(symmem.OpAllToAllv, err)
}

func checkCounts(dstCounts int, srcCounts []int, have, n int) error {
	if dstCounts != n || len(srcCounts) != n {
		return usage("%d counts of dst and %d of src for a team of %d", dstCounts, len(srcCounts), n)
	}
	left := have
	for r, c := range srcCounts {
		if c < 0 || c > left {
			return usage("srcCounts[%d] is %d, but src has only %d elements left for it", r, c, left)
		}
		left -= c
	}
	if left != 0 {
		return usage("srcCounts add up to %d, src has %d elements", have-left, have)
	}
	return nil
}

func allToAllv(ctx context.Context, team *Team, call *symmem.Record, to []byte, have int, dstCounts []int, from []byte, srcCounts []int) error {
	e, err := enginesOf(ctx, team, call)
	if err == nil {
		err = e.enter()
	}
	if err != nil {
		return err
	}
	defer e.leave()
	counts, arrives := e.counts[:8*len(srcCounts)], e.arrives[:8*len(srcCounts)]
	for r, c := range srcCounts {
		binary.LittleEndian.PutUint64(counts[8*r:], uint64(c))
	}
	call.Engine = symmem.EngineLL64
	if err := e.blocks.AllToAll(ctx, call, arrives, counts, 8); err != nil {
		return err
	}
	need, size := 0, call.EltSize
	for r := range dstCounts {
		c := binary.LittleEndian.Uint64(arrives[8*r:])
		if c > maxCount {
			return team.Revoke(fmt.Errorf("%w: rank %d sends a count of %d", ErrRegion, team.WorldRank(r), c))
		}
		dstCounts[r] = int(c)
		need += int(c)
	}
	var refuse *ce.Refusal
	if need > have { // in elements: 1024 counts cannot overflow, their bytes could
		refuse = &ce.Refusal{Need: need, Have: have}
		to = nil
	}
	for r := range e.parts {
		s, d := srcCounts[r]*size, 0
		if refuse == nil {
			d = dstCounts[r] * size
		}
		e.parts[r] = ce.Part{Src: from[:s], Dst: to[:d]}
		from, to = from[s:], to[d:]
	}
	defer clear(e.parts)
	e.plan.engine(call, symmem.OpAllToAll)
	return e.then(e.stream.Exchange(ctx, *call, e.parts, true, refuse))
}
