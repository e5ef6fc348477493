package symwin

import (
	"context"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/internal/reduce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// Number is every type whose elements can be reduced: the integers of 8 to 64
// bits, float32 and float64, and types made of them.
type Number = reduce.Number

// Op is how two elements are reduced to one. Integers wrap; a NaN among floats
// wins; And, Or and Xor are for integers only.
type Op = reduce.Op

// The operations.
const (
	Sum  = reduce.Sum
	Prod = reduce.Prod
	Min  = reduce.Min
	Max  = reduce.Max
	And  = reduce.And
	Or   = reduce.Or
	Xor  = reduce.Xor
)

// Reduce combines the src of all ranks of team, element by element, into dst at
// the rank root. All ranks have equally long src; at root len(dst) == len(src).
// The other ranks' dst is not looked at, nil is as good as any.
//
// An element of the result is ((s0 op s1) op s2) …, in rank order and rounded
// after each step: its bits depend on the data alone, not on memory, engine or
// time. The parts are read where they lie, with vector instructions.
//
// In place: root's dst may be its src. Other overlaps are refused. An op that T
// does not have is ErrUsage. Otherwise as Gather. MPI_Reduce.
func Reduce[T Number](ctx context.Context, team *Team, dst, src []T, op Op, root int) error {
	to, from := atRoot(team, root, window.Raw(dst)), window.Raw(src)
	if e, c := knownCallOf(team, symmem.OpReduce, op, root, typeWord[T](), len(to), len(from)); c != nil && canBe(to, from, 0) {
		return named(symmem.OpReduce, e.blocks.Reduce(ctx, &c.call, to, from, root, c.into))
	}
	return newReduce[T](ctx, team, dst, src, op, root)
}

func newReduce[T Number](ctx context.Context, team *Team, dst, src []T, op Op, root int) error {
	var call symmem.Record
	by, err := reductionOf[T](&call, symmem.OpReduce, len(src), op)
	if err == nil {
		err = checkRoot(root, team.Size())
	}
	to, from := atRoot(team, root, window.Raw(dst)), window.Raw(src)
	if err == nil && team.Rank() == root {
		err = checkVectors(len(dst), len(src), to, from)
	}
	if err == nil {
		call.Root = root
		err = reduceTo(ctx, team, &call, by, to, from)
	}
	if err == nil {
		learn(team, &call, op, typeWord[T](), len(to), len(from), by)
	}
	return named(symmem.OpReduce, err)
}

// AllReduce is Reduce with the result on every rank, the same bits on each:
// len(dst) == len(src), the same on all ranks.
//
// In place: dst may be src. Other overlaps are refused. Otherwise as Reduce.
// MPI_Allreduce; a long one is
// Rabenseifner's: each rank reduces a share, which then all gather.
func AllReduce[T Number](ctx context.Context, team *Team, dst, src []T, op Op) error {
	to, from := window.Raw(dst), window.Raw(src)
	if e, c := knownCallOf(team, symmem.OpAllReduce, op, 0, typeWord[T](), len(to), len(from)); c != nil && canBe(to, from, 0) {
		return named(symmem.OpAllReduce, e.blocks.AllReduce(ctx, &c.call, to, from, c.into))
	}
	return newAllReduce[T](ctx, team, dst, src, op)
}

func newAllReduce[T Number](ctx context.Context, team *Team, dst, src []T, op Op) error {
	to, from := window.Raw(dst), window.Raw(src)
	var call symmem.Record
	by, err := reductionOf[T](&call, symmem.OpAllReduce, len(src), op)
	if err == nil {
		err = checkVectors(len(dst), len(src), to, from)
	}
	if err == nil {
		err = allReduce(ctx, team, &call, by, to, from)
	}
	if err == nil {
		learn(team, &call, op, typeWord[T](), len(to), len(from), by)
	}
	return named(symmem.OpAllReduce, err)
}

// ReduceScatter combines the r-th parts of all ranks' src into rank r's dst, as
// Reduce does. All ranks have equally long dst: len(src) == Size·len(dst).
//
// In place: dst may be this rank's own part of src. Other overlaps are refused.
// Otherwise as Reduce. MPI_Reduce_scatter_block.
func ReduceScatter[T Number](ctx context.Context, team *Team, dst, src []T, op Op) error {
	to, from := window.Raw(dst), window.Raw(src)
	if e, c := knownCallOf(team, symmem.OpReduceScatter, op, 0, typeWord[T](), len(to), len(from)); c != nil && canBe(from, to, team.Rank()) {
		return named(symmem.OpReduceScatter, e.blocks.ReduceScatter(ctx, &c.call, to, from, c.into))
	}
	return newReduceScatter[T](ctx, team, dst, src, op)
}

func newReduceScatter[T Number](ctx context.Context, team *Team, dst, src []T, op Op) error {
	to, from := window.Raw(dst), window.Raw(src)
	var call symmem.Record
	by, err := reductionOf[T](&call, symmem.OpReduceScatter, len(dst), op)
	if err == nil {
		err = checkBlocks("src", len(src), "dst", len(dst), team.Size())
	}
	if err == nil {
		err = apart(from, to, team.Rank(), "src and dst")
	}
	if err == nil {
		err = reduceScatter(ctx, team, &call, by, to, from)
	}
	if err == nil {
		learn(team, &call, op, typeWord[T](), len(to), len(from), by)
	}
	return named(symmem.OpReduceScatter, err)
}

// reductionOf is callOf for a reduction.
func reductionOf[T Number](call *symmem.Record, op symmem.Op, count int, by Op) (reduce.Reduction, error) {
	r, err := reduce.For[T](by)
	if err != nil {
		return r, usage("%w", err)
	}
	err = callOf[T](call, op, count)
	call.Digest += symmem.Details{Reduce: by}.Digest() - symmem.Details{}.Digest()
	return r, err
}

func checkVectors(dst, src int, to, from []byte) error {
	if dst != src {
		return usage("dst has %d elements, src %d; they have to be equally long", dst, src)
	}
	return apart(to, from, 0, "dst and src")
}

// fold is the arithmetic of a reduction, as the copy engine calls it for one
// range after the other.
type fold struct {
	by  reduce.Reduction
	dst []byte
}

// Fold implements ce.Folder.
func (f *fold) Fold(at int, from [][]byte) { f.by.Into(f.dst[at:at+len(from[0])], from...) }

// reduceParts folds what e.parts' Src of all ranks are into dst. inPlace: dst is
// a Src that others get, too.
func (e *engines) reduceParts(ctx context.Context, call *symmem.Record, by reduce.Reduction, dst []byte, inPlace bool) error {
	defer clear(e.parts)
	e.fold = fold{by, dst}
	err := e.stream.Fold(ctx, *call, e.parts, len(dst), inPlace, &e.fold)
	e.fold.dst = nil
	return err
}

func reduceTo(ctx context.Context, team *Team, call *symmem.Record, by reduce.Reduction, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	if e.plan.lines(call, len(from)) {
		return e.blocks.Reduce(ctx, call, to, from, call.Root, by.Into)
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	e.parts[call.Root].Src = from
	return e.reduceParts(ctx, call, by, to, false)
}

func allReduce(ctx context.Context, team *Team, call *symmem.Record, by reduce.Reduction, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	if e.plan.lines(call, len(from)) {
		return e.blocks.AllReduce(ctx, call, to, from, by.Into)
	}
	return e.allReduceByCopies(ctx, call, by, to, from)
}

func (e *engines) allReduceByCopies(ctx context.Context, call *symmem.Record, by reduce.Reduction, to, from []byte) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	if len(from) > e.plan.of[call.Op].direct {
		return e.allReduceInShares(ctx, call, by, to, from)
	}
	for r := range e.parts {
		e.parts[r].Src = from
	}
	return e.reduceParts(ctx, call, by, to, len(to) > 0 && &to[0] == &from[0])
}

// allReduceInShares lets each rank reduce a share, which then all gather.
func (e *engines) allReduceInShares(ctx context.Context, call *symmem.Record, by reduce.Reduction, to, from []byte) error {
	n := len(e.parts)
	mine := share(to, e.team.Rank(), n)
	for r := range e.parts {
		e.parts[r].Src = share(from, r, n)
	}
	if err := e.reduceParts(ctx, call, by, mine, false); err != nil {
		return err
	}
	for r := range e.parts {
		e.parts[r] = ce.Part{Src: mine, Dst: share(to, r, n)}
	}
	return e.then(e.exchange(ctx, step2(call)))
}

func reduceScatter(ctx context.Context, team *Team, call *symmem.Record, by reduce.Reduction, to, from []byte) error {
	e, err := enginesOf(ctx, team, call)
	if err != nil {
		return err
	}
	if e.plan.lines(call, len(to)) {
		return e.blocks.ReduceScatter(ctx, call, to, from, by.Into)
	}
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	for r := range e.parts {
		e.parts[r].Src = block(from, r, len(to))
	}
	return e.reduceParts(ctx, call, by, to, false)
}
