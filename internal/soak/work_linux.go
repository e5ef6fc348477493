package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/lla2a"
)

// wrongBytes is data that is not what its sender sent.
type wrongBytes struct{ text string }

func (e *wrongBytes) Error() string { return "wrong bytes: " + e.text }

// worker is one rank at work. All ranks draw the same operations from the same
// seed, and every element says when, from whom and to whom it is.
type worker struct {
	ctx  context.Context
	plan plan
	w    *symwin.World
	me   int
	n    int
	rand *rand.Rand
	turn uint64

	win     *symwin.Window[uint64]
	session *lla2a.Session[[3]uint64]
	stream  *ce.Stream
	batch   ce.Batch
	views   *ce.Views[uint64]
	signals []uint64 // sent to the next rank, by index
	filled  []int64
}

const winElements = 4096 // of the common window, for each rank

// operation is one kind of step. All ranks make it together.
type operation func(*worker) error

var operations = map[string]operation{
	"barrier": (*worker).barrier,
	"small":   func(x *worker) error { return x.allToAll(1 + x.rand.IntN(64)) },
	"large":   func(x *worker) error { return x.allToAll((16 + x.rand.IntN(512)) << 10 / 8 / x.n * 2) },
	"session": (*worker).epoch,
	"batch":   (*worker).copies,
	"alloc":   (*worker).alloc,
	"split":   (*worker).split,
	"signal":  (*worker).signal,
	"late":    (*worker).late,
	"fill":    (*worker).fill,

	"all":       (*worker).toAll,
	"views":     (*worker).look,
	"reduce":    (*worker).reduce,
	"broadcast": (*worker).broadcast,
	"gather":    (*worker).gather,
	"uneven":    (*worker).uneven,
}

// operationNames are those of ordinary rounds, in a fixed order.
var operationNames = []string{"barrier", "small", "large", "session", "batch", "alloc", "split", "signal", "late",
	"all", "views", "reduce", "broadcast", "gather", "uneven"}

// work makes operations until one fails or rank 0 says that it is enough, and
// tells in which one it ended.
func work(ctx context.Context, w *symwin.World, p plan) (x *worker, op string, err error) {
	x = &worker{ctx: ctx, plan: p, w: w, me: w.Rank(), n: w.Size(),
		rand: rand.New(rand.NewPCG(p.Seed, uint64(p.Round)^1<<63)), signals: make([]uint64, 8)}
	start := time.Now()
	if op, err := x.open(); err != nil {
		return x, op, err
	}
	for enough := false; !enough; {
		op = p.Mix[x.rand.IntN(len(p.Mix))]
		x.turn++
		if err := operations[op](x); err != nil && !(op == "large" && x.plan.Fault == full && errors.Is(err, symwin.ErrNoSpace)) {
			return x, op, err
		}
		if enough, err = x.vote(time.Since(start) > p.Work); err != nil {
			return x, "vote", err
		}
		if x.turn%64 == 0 {
			runtime.GC() // waits must not keep it from coming
		}
	}
	if len(x.filled) > 0 {
		event{Rank: x.me, What: "filled", Did: x.filled}.tell()
	}
	return x, "end", nil
}

func (x *worker) open() (op string, err error) {
	for { // a full file system may refuse it for a while
		x.win, err = symwin.Alloc[uint64](x.ctx, x.w, winElements*x.n)
		if err == nil || x.plan.Fault != full || !errors.Is(err, symwin.ErrNoSpace) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil || x.plan.Fault == full {
		return "alloc", err
	}
	if x.session, err = lla2a.Open[[3]uint64](x.ctx, x.w.Team(), 2); err != nil {
		return "open session", err
	}
	if x.stream, err = ce.Open(x.ctx, x.w.Team(), ce.Options{Workers: 1}); err != nil {
		return "open stream", err
	}
	x.views, err = ce.OpenViews[uint64](x.ctx, x.w.Team(), viewElements)
	return "open views", err
}

// value is element i of what rank from sends to rank to in this turn.
func (x *worker) value(from, to, i int) uint64 {
	v := x.plan.Seed ^ x.turn<<40 ^ uint64(from)<<32 ^ uint64(to)<<24 ^ uint64(i)
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

func (x *worker) check(what string, got []uint64, from, to, first int) error {
	for i, v := range got {
		if want := x.value(from, to, first+i); v != want {
			return &wrongBytes{fmt.Sprintf("%s, turn %d: element %d from rank %d is %#x, should be %#x", what, x.turn, first+i, from, v, want)}
		}
	}
	return nil
}

// vote ends the work of all ranks at the same turn.
func (x *worker) vote(enough bool) (bool, error) {
	src, dst := make([]uint64, x.n), make([]uint64, x.n)
	for to := range src {
		src[to] = x.turn << 1
		if enough {
			src[to] |= 1
		}
	}
	for {
		err := symwin.AllToAll(x.ctx, x.w.Team(), dst, src)
		if err == nil {
			break
		}
		if x.plan.Fault != full || !errors.Is(err, symwin.ErrNoSpace) {
			return false, err
		}
		time.Sleep(time.Millisecond)
	}
	for from, v := range dst {
		if v>>1 != x.turn {
			return false, &wrongBytes{fmt.Sprintf("vote: rank %d is in turn %d, this one in %d", from, v>>1, x.turn)}
		}
	}
	return dst[0]&1 != 0, nil
}

// barrier: what was put before it is there after it.
func (x *worker) barrier() error {
	for to := range x.n {
		if err := x.win.Put(to, x.me*winElements, []uint64{x.value(x.me, to, 0)}); err != nil {
			return err
		}
	}
	if err := x.w.Team().Barrier(x.ctx); err != nil {
		return err
	}
	local := x.win.Local()
	for from := range x.n {
		if err := x.check("barrier", local[from*winElements:][:1], from, x.me, 0); err != nil {
			return err
		}
	}
	return x.w.Team().Barrier(x.ctx)
}

func (x *worker) allToAll(per int) error { return x.exchange("alltoall", x.w.Team(), per) }

func (x *worker) exchange(what string, team *symwin.Team, per int) error {
	n, me := team.Size(), team.Rank()
	src, dst := make([]uint64, per*n), make([]uint64, per*n)
	for to := range n {
		for i := range per {
			src[to*per+i] = x.value(me, to, i)
		}
	}
	if err := symwin.AllToAll(x.ctx, team, dst, src); err != nil {
		return err
	}
	for from := range n {
		if err := x.check(what, dst[from*per:][:per], from, me, 0); err != nil {
			return err
		}
	}
	return nil
}

// epoch is one epoch of the session, dense or along a ring.
func (x *worker) epoch() error {
	sparse := x.rand.IntN(3) == 0
	for k := range x.n {
		to := (x.me + k) % x.n
		if sparse && k != 1 {
			continue
		}
		v := [3]uint64{x.value(x.me, to, 0), x.value(x.me, to, 1), x.value(x.me, to, 2)}
		if err := x.session.Send(x.ctx, to, int(x.turn&1), v); err != nil {
			return err
		}
	}
	for k := range x.n {
		from := (x.me + x.n - k) % x.n
		if sparse && k != 1 {
			continue
		}
		v, err := x.session.Recv(x.ctx, from, int(x.turn&1))
		if err != nil {
			return err
		}
		if err := x.check("session", v[:], from, x.me, 0); err != nil {
			return err
		}
	}
	return x.session.EndEpoch(x.ctx)
}

// copies is a batch over the stream, run or started.
func (x *worker) copies() error {
	n := 1 + x.rand.IntN(winElements)
	x.batch.Reset()
	for k := range x.n {
		to := (x.me + k) % x.n
		src := make([]uint64, n)
		for i := range src {
			src[i] = x.value(x.me, to, i)
		}
		ce.Put(&x.batch, to, x.win.At(x.me*winElements, n), src)
	}
	var err error
	if x.rand.IntN(2) == 0 {
		err = x.stream.Run(x.ctx, &x.batch)
	} else {
		err = x.stream.Start(&x.batch).Wait(x.ctx)
	}
	if err != nil {
		return err
	}
	local := x.win.Local()
	for from := range x.n {
		if err := x.check("batch", local[from*winElements:][:n], from, x.me, 0); err != nil {
			return err
		}
	}
	return x.w.Team().Barrier(x.ctx) // nobody puts anew before all have looked
}

// alloc makes a window, uses it and gives it back.
func (x *worker) alloc() error {
	n := 1 + x.rand.IntN(100_000)
	win, err := symwin.Alloc[uint64](x.ctx, x.w, n)
	if err != nil {
		return err
	}
	for i, v := range win.Local() {
		if v != 0 {
			return &wrongBytes{fmt.Sprintf("element %d of a new window is %#x", i, v)}
		}
	}
	if err := x.w.Team().Barrier(x.ctx); err != nil {
		return err
	}
	to, from := (x.me+1)%x.n, (x.me+x.n-1)%x.n
	src := make([]uint64, n)
	for i := range src {
		src[i] = x.value(x.me, to, i)
	}
	if err := win.PutSignal(to, 0, src, 0); err != nil {
		return err
	}
	if _, err := win.WaitSignal(x.ctx, from, 0, 1); err != nil {
		return err
	}
	if err := x.check("window", win.Local(), from, x.me, 0); err != nil {
		return err
	}
	return win.Free(x.ctx)
}

// split makes two teams, or one in another order, and works there.
func (x *worker) split() error {
	team, err := x.w.Team().Split(x.ctx, x.me%(1+x.rand.IntN(2)), -x.me)
	if err != nil {
		return err
	}
	if err := team.Barrier(x.ctx); err != nil {
		return err
	}
	if err := x.exchange("alltoall of a sub-team", team, 16); err != nil {
		return err
	}
	return team.Close(x.ctx)
}

// signal passes data around the ring.
func (x *worker) signal() error {
	idx := x.rand.IntN(8)
	to, from := (x.me+1)%x.n, (x.me+x.n-1)%x.n
	x.signals[idx]++
	if err := x.win.PutSignal(to, x.me*winElements, []uint64{x.value(x.me, to, 7)}, idx); err != nil {
		return err
	}
	if _, err := x.win.WaitSignal(x.ctx, from, idx, x.signals[idx]); err != nil {
		return err
	}
	if err := x.check("signal", x.win.Local()[from*winElements:][:1], from, x.me, 7); err != nil {
		return err
	}
	return x.w.Team().Barrier(x.ctx)
}

// late lets the others wait for one rank until they sleep.
func (x *worker) late() error {
	who, how := x.rand.IntN(x.n), time.Duration(x.rand.IntN(6000))*time.Microsecond
	if who == x.me {
		time.Sleep(how)
	}
	return x.w.Team().Barrier(x.ctx)
}

// fill allocates until there is no more; all ranks must see the same.
func (x *worker) fill() error {
	var wins []*symwin.Window[uint64]
	for range 1 + x.rand.IntN(6) {
		win, err := symwin.Alloc[uint64](x.ctx, x.w, 1+x.rand.IntN(1<<19))
		if errors.Is(err, symwin.ErrNoSpace) {
			x.filled = append(x.filled, 0)
			break
		}
		if err != nil {
			return err
		}
		x.filled = append(x.filled, 1)
		wins = append(wins, win)
		clear(win.Local()) // what was promised is there
	}
	for _, win := range wins {
		if err := win.Free(x.ctx); err != nil {
			return err
		}
	}
	return nil
}

// again makes calls after a failure: each must say why it cannot be made.
func (x *worker) again(rank int) {
	failed(rank, "again", "barrier", x.w.Team().Barrier(x.ctx)).tell()
	src := make([]uint64, x.n)
	failed(rank, "again", "alltoall", symwin.AllToAll(x.ctx, x.w.Team(), make([]uint64, x.n), src)).tell()
	if x.win != nil {
		failed(rank, "again", "put", x.win.Put(rank, 0, src[:1])).tell()
		_, err := x.win.WaitSignal(x.ctx, (rank+1)%x.n, 0, 1<<60)
		failed(rank, "again", "wait", err).tell()
	}
	if x.session != nil {
		_, err := x.session.Recv(x.ctx, (rank+1)%x.n, 0)
		failed(rank, "again", "receive", err).tell()
	}
	_, err := x.w.Team().Split(x.ctx, 0, 0)
	failed(rank, "again", "split", err).tell()
}
