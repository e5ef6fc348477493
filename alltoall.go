package symwin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// AllToAll sends the r-th part of src to rank r of team, and receives rank r's
// part for this rank into the r-th part of dst. Both have Size parts of equal
// length, the same on all ranks: len(dst) == len(src), a multiple of Size.
//
// dst and src may be any memory, and do not overlap. T is free of pointers. A
// dst that lies in a window (Alloc) is written by its senders directly. It
// returns when dst is complete and src may be used again. The steady state
// allocates nothing. One operation at a time per team.
//
// Errors: ErrUsage, local, before anything is stored; ErrMismatch if ranks call
// different things; and the failures of peers (package doc). MPI_Alltoall.
func AllToAll[T any](ctx context.Context, team *Team, dst, src []T) error {
	if err := window.CheckType[T](); err != nil {
		return fmt.Errorf("alltoall: %w", err)
	}
	n := team.Size()
	if len(src)%n != 0 || len(dst) != len(src) {
		return fmt.Errorf("alltoall: %w: dst has %d elements, src %d; both must have the same multiple of %d", ErrUsage, len(dst), len(src), n)
	}
	to, from := window.Raw(dst), window.Raw(src)
	if window.Overlap(to, from) {
		return fmt.Errorf("alltoall: %w: dst and src overlap", ErrUsage)
	}
	call := symmem.Record{Op: symmem.OpAllToAll, Engine: symmem.EngineCE, EltSize: window.SizeOf[T](), Count: uint64(len(src) / n)}
	size := len(from) / n
	if small(size, team.Size()) {
		call.Engine = symmem.EngineLL64
	}
	e, err := enginesOf(ctx, team, call)
	if err == nil {
		err = e.allToAll(ctx, team, call, to, from, size)
	}
	if err != nil {
		return fmt.Errorf("alltoall: %w", err)
	}
	return nil
}

func (e *engines) allToAll(ctx context.Context, team *Team, call symmem.Record, to, from []byte, size int) error {
	if small(size, team.Size()) {
		return e.blocks.AllToAll(ctx, call, to, from, size)
	}
	if !e.busy.TryLock() {
		return errInside()
	}
	defer e.busy.Unlock()
	w := team.World()
	for r := range e.parts {
		e.parts[r] = part(w, from[r*size:(r+1)*size], to[r*size:(r+1)*size])
	}
	return e.exchange(ctx, call, false, nil)
}

// AllToAllv is AllToAll with parts of any lengths: srcCounts[r] elements of src go
// to rank r; src holds them packed in rank order. The counts are exchanged first;
// dstCounts[r] is set to what rank r sends here, and dst receives it packed in
// rank order.
//
// If dst is too short on any rank, all ranks get the same *TooShortError naming
// that rank, what it needs and what it has; nothing is copied, the team goes on,
// and dstCounts says what would have come. Otherwise as AllToAll. MPI_Alltoallv,
// but for the counts of the receiving side, which nobody has to know before.
func AllToAllv[T any](ctx context.Context, team *Team, dst []T, dstCounts []int, src []T, srcCounts []int) error {
	if err := window.CheckType[T](); err != nil {
		return fmt.Errorf("alltoallv: %w", err)
	}
	n := team.Size()
	if len(dstCounts) != n || len(srcCounts) != n {
		return fmt.Errorf("alltoallv: %w: %d counts of dst and %d of src for a team of %d", ErrUsage, len(dstCounts), len(srcCounts), n)
	}
	left := len(src)
	for r, c := range srcCounts {
		if c < 0 || c > left {
			return fmt.Errorf("alltoallv: %w: srcCounts[%d] is %d, but src has only %d elements left for it", ErrUsage, r, c, left)
		}
		left -= c
	}
	if left != 0 {
		return fmt.Errorf("alltoallv: %w: srcCounts add up to %d, src has %d elements", ErrUsage, len(src)-left, len(src))
	}
	to, from := window.Raw(dst), window.Raw(src)
	if window.Overlap(to, from) {
		return fmt.Errorf("alltoallv: %w: dst and src overlap", ErrUsage)
	}
	call := symmem.Record{Op: symmem.OpAllToAllv, EltSize: window.SizeOf[T]()}
	e, err := enginesOf(ctx, team, call)
	if err == nil {
		err = e.allToAllv(ctx, team, call, to, len(dst), dstCounts, from, srcCounts)
	}
	if err != nil {
		return fmt.Errorf("alltoallv: %w", err)
	}
	return nil
}

// maxCount is the largest count a peer may name: no region holds more bytes.
const maxCount = 1 << 46

func (e *engines) allToAllv(ctx context.Context, team *Team, call symmem.Record, to []byte, have int, dstCounts []int, from []byte, srcCounts []int) error {
	if !e.busy.TryLock() {
		return errInside()
	}
	defer e.busy.Unlock()
	for r, c := range srcCounts {
		binary.LittleEndian.PutUint64(e.counts[8*r:], uint64(c))
	}
	call.Engine = symmem.EngineLL64
	if err := e.blocks.AllToAll(ctx, call, e.arrives, e.counts, 8); err != nil {
		return err
	}
	need, size := 0, call.EltSize
	for r := range dstCounts {
		c := binary.LittleEndian.Uint64(e.arrives[8*r:])
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
	w := team.World()
	for r := range e.parts {
		s := srcCounts[r] * size
		d := 0
		if refuse == nil {
			d = dstCounts[r] * size
		}
		e.parts[r] = part(w, from[:s], to[:d])
		from, to = from[s:], to[d:]
	}
	call.Engine = symmem.EngineCE
	err := e.exchange(ctx, call, true, refuse)
	if err != nil && !errors.Is(err, ErrTooShort) {
		return team.Revoke(err) // the counts have gone out: the others wait for the rest
	}
	return err
}
