package lla2a_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

// blockSizes are around every edge: of a word, of a small block, of a line, of a board.
var blockSizes = []int{0, 1, 7, 8, 9, 16, 47, 48, 49, 63, 64, 65, 100, 1000, 1024, 1135, 1136, 1137, 1500}

const mostOfBlocks = 1500

// player plays collectives of Blocks on one member, drawn from seeds that all
// members share, and checks every byte.
type player struct {
	b     *lla2a.Blocks
	n, me int
	rng   *rand.Rand // the same on all members
	local *rand.Rand
	want  []byte
}

// blocks plays calls of Blocks from epoch start on, over the world's team or one
// in another order.
func blocks(ctx context.Context, w *symmem.World, seed, start uint64, calls int) error {
	team := w.Team()
	if seed%2 == 1 {
		var err error
		if team, err = w.Team().Split(ctx, 0, w.Size()-w.Rank()); err != nil {
			return err
		}
	}
	b, err := lla2a.OpenBlocksShared(ctx, team, mostOfBlocks, seed/2%2 == 1)
	if err != nil {
		return err
	}
	if start > 0 {
		if err := startAt(ctx, team, b, start); err != nil {
			return err
		}
	}
	p := &player{b: b, n: team.Size(), me: team.Rank(), want: make([]byte, mostOfBlocks),
		rng: rand.New(rand.NewPCG(seed, 5)), local: rand.New(rand.NewPCG(seed, uint64(1000+team.Rank())))}
	ops := []func(context.Context, uint64, int) error{p.allToAll, p.allGather, p.allReduce, p.reduceScatter, p.gather, p.scatter, p.reduce, p.broadcast}
	for i := start; i < start+uint64(calls); i++ {
		if p.local.IntN(8) == 0 { // ranks drift apart
			time.Sleep(time.Duration(p.local.IntN(300)) * time.Microsecond)
		}
		op, size := p.rng.IntN(len(ops)+3), blockSizes[p.rng.IntN(len(blockSizes))]
		if op >= len(ops) {
			op = len(ops) - 1 // many broadcasts, in which a root runs ahead
		}
		if err := ops[op](ctx, i, size); err != nil {
			return fmt.Errorf("seed %d, call %d, operation %d of %d bytes, rank %d of %d: %w", seed, i, op, size, p.me, p.n, err)
		}
		if old := b.OldTags(); old > 0 && b.Epoch()%lla2a.Lap < 100 {
			return fmt.Errorf("%d tags of the lap before are left: the next lap would take them for its own", old)
		}
	}
	return b.Close(ctx)
}

func (p *player) check(got []byte, i uint64, from, to, size int) error {
	fill(p.want[:size], i, from, to, size)
	if !bytes.Equal(got, p.want[:size]) {
		return fmt.Errorf("got %x from %d, not %x", got, from, p.want[:size])
	}
	return nil
}

func callOf(op symmem.Op, size, root int) *symmem.Record {
	c := *lla2a.TestCall
	c.Op, c.EltSize, c.Count, c.Root = op, 1, uint64(size), root
	return &c
}

// overlapping returns two pieces of that many bytes that are apart, the same, or
// share a part: what is right in place has to be right in any way.
func (p *player) overlapping(n int) (dst, src []byte) {
	m := make([]byte, 2*n+1)
	switch p.local.IntN(3) {
	case 0:
		return m[:n], m[n:][:n]
	case 1:
		return m[:n], m[:n]
	}
	at := p.local.IntN(n + 1)
	return m[at:][:n], m[n/2:][:n]
}

func (p *player) allToAll(ctx context.Context, i uint64, size int) error {
	dst, src := p.overlapping(p.n * size)
	for to := range p.n {
		fill(src[to*size:(to+1)*size], i, p.me, to, size)
	}
	if err := p.b.AllToAll(ctx, callOf(symmem.OpAllToAll, size, 0), dst, src, size); err != nil {
		return err
	}
	for from := range p.n {
		if err := p.check(dst[from*size:(from+1)*size], i, from, p.me, size); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) allGather(ctx context.Context, i uint64, size int) error {
	dst := make([]byte, p.n*size)
	src := make([]byte, size)
	if p.local.IntN(2) == 0 && size > 0 {
		src = dst[p.local.IntN((p.n-1)*size+1):][:size]
	}
	fill(src, i, p.me, broadcast, size)
	if err := p.b.AllGather(ctx, callOf(symmem.OpAllGather, size, 0), dst, src); err != nil {
		return err
	}
	for from := range p.n {
		if err := p.check(dst[from*size:(from+1)*size], i, from, broadcast, size); err != nil {
			return err
		}
	}
	return nil
}

// allReduce with an operation that depends on the order of the parts, and sees
// every byte of them.
func (p *player) allReduce(ctx context.Context, i uint64, size int) error {
	src := make([]byte, size)
	dst := src // in place, or elsewhere
	if p.local.IntN(2) == 0 {
		dst = make([]byte, size)
	}
	fill(src, i, p.me, broadcast, size)
	if err := p.b.AllReduce(ctx, callOf(symmem.OpAllReduce, size, 0), dst, src, inOrder); err != nil {
		return err
	}
	return p.reduced(dst, i, broadcast, size)
}

func (p *player) reduceScatter(ctx context.Context, i uint64, size int) error {
	size /= p.n
	src := make([]byte, p.n*size)
	dst := src[p.me*size:][:size] // in place, or elsewhere
	if p.local.IntN(2) == 0 {
		dst = make([]byte, size)
	}
	for to := range p.n {
		fill(src[to*size:][:size], i, p.me, to, size)
	}
	if err := p.b.ReduceScatter(ctx, callOf(symmem.OpReduceScatter, size, 0), dst, src, inOrder); err != nil {
		return err
	}
	return p.reduced(dst, i, p.me, size)
}

// reduced checks the result of a reduction by inOrder of what was for that member.
func (p *player) reduced(dst []byte, i uint64, to, size int) error {
	parts := make([][]byte, p.n)
	for r := range parts {
		parts[r] = make([]byte, size)
		fill(parts[r], i, r, to, size)
	}
	inOrder(p.want[:size], parts...)
	if !bytes.Equal(dst, p.want[:size]) {
		return fmt.Errorf("got %x, not %x", dst, p.want[:size])
	}
	return nil
}

func inOrder(dst []byte, parts ...[]byte) {
	for j := range dst { // which may be one of the parts
		v := byte(0)
		for _, p := range parts {
			v = v*7 + p[j]
		}
		dst[j] = v
	}
}

func (p *player) broadcast(ctx context.Context, i uint64, size int) error {
	root := p.rng.IntN(p.n)
	if p.rng.IntN(2) == 0 {
		root = 0
	}
	buf := make([]byte, size)
	if p.me == root {
		fill(buf, i, root, broadcast, size)
	}
	if err := p.b.Broadcast(ctx, callOf(symmem.OpBroadcast, size, root), buf, root); err != nil {
		return err
	}
	return p.check(buf, i, root, broadcast, size)
}

func (p *player) gather(ctx context.Context, i uint64, size int) error {
	root := p.rng.IntN(p.n)
	src := make([]byte, size)
	var dst []byte
	if p.me == root {
		dst = make([]byte, p.n*size)
		if p.local.IntN(2) == 0 { // in place
			src = dst[p.me*size:][:size]
		}
	}
	fill(src, i, p.me, broadcast, size)
	if err := p.b.Gather(ctx, callOf(symmem.OpGather, size, root), dst, src, root); err != nil {
		return err
	}
	for from := range len(dst) / max(size, 1) {
		if err := p.check(dst[from*size:(from+1)*size], i, from, broadcast, size); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) scatter(ctx context.Context, i uint64, size int) error {
	root := p.rng.IntN(p.n)
	size /= p.n
	dst := make([]byte, size)
	var src []byte
	if p.me == root {
		src = make([]byte, p.n*size)
		for to := range p.n {
			fill(src[to*size:][:size], i, root, to, size)
		}
		if p.local.IntN(2) == 0 { // in place
			dst = src[p.me*size:][:size]
		}
	}
	if err := p.b.Scatter(ctx, callOf(symmem.OpScatter, size, root), dst, src, root); err != nil {
		return err
	}
	return p.check(dst, i, root, p.me, size)
}

func (p *player) reduce(ctx context.Context, i uint64, size int) error {
	root := p.rng.IntN(p.n)
	src := make([]byte, size)
	fill(src, i, p.me, broadcast, size)
	if p.me != root {
		return p.b.Reduce(ctx, callOf(symmem.OpReduce, size, root), nil, src, root, nil)
	}
	dst := make([]byte, size)
	if err := p.b.Reduce(ctx, callOf(symmem.OpReduce, size, root), dst, src, root, inOrder); err != nil {
		return err
	}
	return p.reduced(dst, i, broadcast, size)
}
