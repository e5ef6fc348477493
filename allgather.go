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

// AllGather sends src to every rank of team, and receives rank r's src into the
// r-th part of dst. All ranks have equally long src: len(dst) == Size·len(src).
//
// In place: src may be this rank's own part of dst, then it stays where it is.
// Other overlaps are refused. Memory, errors and concurrency as AllToAll.
// MPI_Allgather.
func AllGather[T any](ctx context.Context, team *Team, dst, src []T) error {
	to, from := window.Raw(dst), window.Raw(src)
	if e, c := knownCallOf(team, symmem.OpAllGather, 0, 0, typeWord[T](), len(to), len(from)); c != nil && canBe(to, from, team.Rank()) {
		if c.lines {
			return named(symmem.OpAllGather, e.blocks.AllGather(ctx, &c.call, to, from))
		}
		return named(symmem.OpAllGather, e.allGatherByCopies(ctx, &c.call, to, from))
	}
	return newAllGather[T](ctx, team, dst, src)
}

func newAllGather[T any](ctx context.Context, team *Team, dst, src []T) error {
	to, from := window.Raw(dst), window.Raw(src)
	var call symmem.Record
	err := callOf[T](&call, symmem.OpAllGather, len(src))
	if err == nil {
		err = checkBlocks("dst", len(dst), "src", len(src), team.Size())
	}
	if err == nil {
		err = apart(to, from, team.Rank(), "dst and src")
	}
	if err == nil {
		err = allGather(ctx, team, &call, to, from)
	}
	if err == nil {
		learn(team, &call, 0, typeWord[T](), len(to), len(from), reduce.Reduction{})
	}
	return named(symmem.OpAllGather, err)
}

func allGather(ctx context.Context, team *Team, call *symmem.Record, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	if e.plan.lines(call, len(from)) {
		return e.blocks.AllGather(ctx, call, to, from)
	}
	return e.allGatherByCopies(ctx, call, to, from)
}

func (e *engines) allGatherByCopies(ctx context.Context, call *symmem.Record, to, from []byte) error {
	return e.stream.ExchangeEach(ctx, call, func(r int) (src, dst []byte) {
		return from, block(to, r, len(from))
	})
}

// AllGatherv is AllGather with src of any lengths, which nobody else has to know
// before: dstCounts[r] is set to the length of rank r's src, and dst receives them
// packed in rank order. What dst has beyond that is left as it was.
//
// If dst is too short on any rank, all ranks get the same *TooShortError naming
// the first such rank; nothing is copied, the team goes on, and dstCounts says
// what would have come. src, dst and dstCounts do not overlap. Otherwise as AllGather.
// MPI_Allgatherv.
func AllGatherv[T any](ctx context.Context, team *Team, dst []T, dstCounts []int, src []T) error {
	var call symmem.Record
	err := callOf[T](&call, symmem.OpAllGatherv, 0)
	to, from := window.Raw(dst), window.Raw(src)
	switch {
	case err != nil:
	case len(dstCounts) != team.Size():
		err = usage("%d counts of dst for a team of %d", len(dstCounts), team.Size())
	case window.Overlap(to, from):
		err = usage("dst and src overlap")
	case overlapAny(dstCounts, nil, to, from):
		err = usage("dstCounts overlaps dst or src")
	default:
		err = allGatherv(ctx, team, &call, to, len(dst), dstCounts, from, len(src))
	}
	return named(symmem.OpAllGatherv, err)
}

// allGatherv tells everybody, through lines, what each rank has and how much it
// can take: so all know before the first copy whether it comes to that, and which
// way the data goes. What fits beside the counts has come with them.
func allGatherv(ctx context.Context, team *Team, call *symmem.Record, to []byte, have int, dstCounts []int, from []byte, count int) error {
	e, err := enginesOf(ctx, team, call)
	if err == nil {
		err = e.enter()
	}
	if err != nil {
		return err
	}
	defer e.leave()
	mine := e.counts[:countsBytes]
	binary.LittleEndian.PutUint64(mine, uint64(count))
	binary.LittleEndian.PutUint64(mine[8:], uint64(have))
	copy(mine[16:], from)
	call.Engine = symmem.EngineLL64
	if err := e.blocks.AllGather(ctx, call, e.arrives, mine); err != nil {
		return err
	}
	need, most := 0, 0
	for r := range dstCounts {
		c := binary.LittleEndian.Uint64(e.arrives[countsBytes*r:])
		if c > maxCount {
			return team.Revoke(fmt.Errorf("%w: rank %d sends a count of %d", ErrRegion, team.WorldRank(r), c))
		}
		dstCounts[r] = int(c)
		need, most = need+int(c), max(most, int(c))
	}
	for r := range dstCounts {
		if has := binary.LittleEndian.Uint64(e.arrives[countsBytes*r+8:]); uint64(need) > has {
			return &TooShortError{Rank: r, Need: need, Have: int(has)}
		}
	}
	switch most *= call.EltSize; {
	case most <= countsBytes-16:
		unpack(to, e.arrives, countsBytes, 16, dstCounts, call.EltSize)
		return nil
	case most <= e.plan.of[symmem.OpAllGather].lines:
		return e.then(e.allGatherPadded(ctx, call, to, dstCounts, from, most))
	}
	for r := range e.parts {
		d := dstCounts[r] * call.EltSize
		e.parts[r] = ce.Part{Src: from, Dst: to[:d]}
		to = to[d:]
	}
	e.plan.engine(call, symmem.OpAllGather)
	return e.then(e.exchange(ctx, call))
}

// countsBytes is what a block of lines holds that has no second one: a count, the
// room for all of them, and the first bytes.
const countsBytes = 48

// allGatherPadded gathers blocks of size bytes, of which each rank has at most so
// many.
func (e *engines) allGatherPadded(ctx context.Context, call *symmem.Record, to []byte, dstCounts []int, from []byte, size int) error {
	all := e.spareBytes((len(dstCounts) + 1) * size)
	mine, all := all[:size], all[size:]
	copy(mine, from)
	if err := e.blocks.AllGather(ctx, step2(call), all, mine); err != nil {
		return err
	}
	unpack(to, all, size, 0, dstCounts, call.EltSize)
	return nil
}

// unpack copies so many elements of each of from's blocks of size bytes, from
// byte at on, one behind the other.
func unpack(to, from []byte, size, at int, counts []int, eltSize int) {
	for r, c := range counts {
		n := c * eltSize
		copy(to[:n], from[r*size+at:])
		to = to[n:]
	}
}
