package lla2a_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
)

// value is what `from` sends to `to` in a slot of an epoch. Every byte depends on
// all four, so what is stale, or somebody else's, is wrong.
func value[T any](epoch uint64, from, to, slot int) (v T) {
	fill(lla2a.BytesOf(&v), epoch, from, to, slot)
	return v
}

func fill(p []byte, epoch uint64, from, to, slot int) {
	x := (epoch+1)*0x9e3779b97f4a7c15 ^ uint64(from+1)<<40 ^ uint64(to+2)<<20 ^ uint64(slot+1)
	for ; len(p) > 0; p = p[min(8, len(p)):] {
		x ^= x >> 30
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 27
		x *= 0x94d049bb133111eb
		x ^= x >> 31
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], x)
		copy(p, word[:])
	}
}

// broadcast as the receiver of a value: it is the same for all.
const broadcast = -1

// pattern says who sends what to whom in an epoch: the same on all ranks, drawn
// from seed and epoch.
type pattern struct {
	kind     int
	rng      uint64
	n, slots int
}

const (
	dense = iota
	sparse
	oneWay
	silent
	casts // everybody broadcasts, everybody receives
	shout // everybody broadcasts, hardly anybody receives
	kinds
	changing // one of them in each epoch
)

var kindNames = [...]string{dense: "dense", sparse: "sparse", oneWay: "one way", silent: "silent", casts: "casts", shout: "shout", changing: "changing"}

func patternOf(kind int, seed, epoch uint64, n, slots int) pattern {
	rng := rand.New(rand.NewPCG(seed, epoch))
	p := pattern{kind: rng.IntN(kinds), rng: rng.Uint64(), n: n, slots: slots}
	if kind != changing {
		p.kind = kind
	}
	return p
}

// dice is a number below limit that depends on its arguments alone.
func (p pattern) dice(limit uint64, what ...int) bool {
	x := p.rng
	for _, w := range what {
		x = (x ^ uint64(w+1)) * 0x9e3779b97f4a7c15
		x ^= x >> 29
	}
	return x%10 < limit
}

func (p pattern) sends(from, to, slot int) bool {
	switch p.kind {
	case dense:
		return true
	case sparse:
		return p.dice(2, from, to, slot)
	case oneWay:
		return from < to && p.dice(7, from, to, slot)
	}
	return false
}

// receives says whether `to` looks at what it is sent; what it does not look at
// is lost, and harms nothing.
func (p pattern) receives(from, to, slot int) bool {
	switch p.kind {
	case shout:
		return p.dice(1, from, to, slot)
	case casts, dense:
		return true
	}
	return p.sends(from, to, slot) && p.dice(8, from, to, slot, 7)
}

// program plays epochs of changing patterns over a session of T, from epoch start
// on, and checks every value it receives.
func program[T comparable](ctx context.Context, w *symmem.World, seed, start uint64, epochs int) error {
	return play[T](ctx, w, changing, seed, start, epochs)
}

// play is program with one kind of pattern.
func play[T comparable](ctx context.Context, w *symmem.World, kind int, seed, start uint64, epochs int) error {
	const slots = 3
	team := w.Team()
	n, me := team.Size(), team.Rank()
	s, err := lla2a.Open[T](ctx, team, slots)
	if err != nil {
		return err
	}
	if start > 0 {
		if err := startAt(ctx, team, s, start); err != nil {
			return err
		}
	}
	local := rand.New(rand.NewPCG(seed, uint64(1000+me)))
	all := make([]T, n)
	for i := start; i < start+uint64(epochs); i++ {
		fail := func(err error) error { return fmt.Errorf("seed %d, epoch %d, rank %d: %w", seed, i, me, err) }
		if local.IntN(8) == 0 { // ranks drift apart
			time.Sleep(time.Duration(local.IntN(300)) * time.Microsecond)
		}
		p := patternOf(kind, seed, i, n, slots)
		for slot := range slots {
			if p.kind == casts || p.kind == shout {
				if err := s.Bcast(ctx, slot, value[T](i, me, broadcast, slot)); err != nil {
					return fail(err)
				}
			}
			for to := range n {
				if p.sends(me, to, slot) {
					if err := s.Send(ctx, to, slot, value[T](i, me, to, slot)); err != nil {
						return fail(err)
					}
				}
			}
		}
		for slot := range slots {
			if p.kind == casts && slot == 0 {
				if err := s.RecvAll(ctx, slot, all); err != nil {
					return fail(err)
				}
				for from, v := range all {
					if v != value[T](i, from, broadcast, slot) {
						return fail(fmt.Errorf("wrong broadcast from %d in slot %d: %x", from, slot, lla2a.BytesOf(&v)))
					}
				}
				continue
			}
			if p.kind == casts && slot == 1 {
				type come struct {
					members int
					wrong   error
				}
				got, err := lla2a.RecvReduce(ctx, s, slot, come{}, func(c come, v T) come {
					if from := c.members; v != value[T](i, from, broadcast, slot) {
						c.wrong = fmt.Errorf("wrong broadcast folded from %d in slot %d: %x", from, slot, lla2a.BytesOf(&v))
					}
					c.members++
					return c
				})
				if err != nil || got.wrong != nil || got.members != n {
					return fail(fmt.Errorf("folded %d members, %v: %w", got.members, got.wrong, err))
				}
				continue
			}
			for _, from := range local.Perm(n) {
				if !p.receives(from, me, slot) {
					continue
				}
				to := me
				if p.kind == casts || p.kind == shout {
					to = broadcast
				}
				v, err := s.Recv(ctx, from, slot)
				if err != nil {
					return fail(err)
				}
				if v != value[T](i, from, to, slot) {
					return fail(fmt.Errorf("wrong value from %d in slot %d: %x", from, slot, lla2a.BytesOf(&v)))
				}
			}
		}
		if err := s.EndEpoch(ctx); err != nil {
			return fail(err)
		}
		if old := s.OldTags(); old > 0 && s.Epoch()%lla2a.Lap < 100 {
			return fail(fmt.Errorf("%d words of the lap before are left: the next lap would take them for its own", old))
		}
	}
	if looks := s.Looks(); looks > 0 && (kind == dense || kind == casts) {
		return fmt.Errorf("%d looks at headers in %s traffic", looks, kindNames[kind])
	}
	return s.Close(ctx)
}

// startAt puts all members into epoch i.
func startAt(ctx context.Context, team *symmem.Team, s interface{ StartAt(uint64) }, i uint64) error {
	if err := team.Barrier(ctx); err != nil {
		return err
	}
	s.StartAt(i)
	return team.Barrier(ctx)
}

// ahead: rank 0 sends and receives nothing, so it runs as far ahead as it may;
// the others are slow, and get everything. ended tells how far they are.
func ahead(ctx context.Context, w *symmem.World, epochs int, ended []atomic.Uint64) error {
	n, me := w.Size(), w.Rank()
	s, err := lla2a.Open[[3]uint64](ctx, w.Team(), 1)
	if err != nil {
		return err
	}
	for i := range uint64(epochs) {
		if me == 0 {
			for to := 1; to < n; to++ {
				if err := s.Send(ctx, to, 0, value[[3]uint64](i, 0, to, 0)); err != nil {
					return err
				}
				if ended != nil && ended[to].Load()+1 < i {
					return fmt.Errorf("rank 0 was let into epoch %d of rank %d, which had ended %d", i, to, ended[to].Load())
				}
			}
		} else {
			if i%5 == uint64(me)%5 {
				time.Sleep(time.Millisecond)
			}
			v, err := s.Recv(ctx, 0, 0)
			if err != nil {
				return err
			}
			if v != value[[3]uint64](i, 0, me, 0) {
				return fmt.Errorf("rank %d, epoch %d: overwritten: %x", me, i, v)
			}
			if ended != nil {
				ended[me].Store(i + 1)
			}
		}
		if err := s.EndEpoch(ctx); err != nil {
			return err
		}
	}
	return s.Close(ctx)
}
