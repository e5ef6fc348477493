package bench

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/symwin/symwin/internal/futex"
	"github.com/symwin/symwin/internal/line"
	shmsync "github.com/symwin/symwin/sync"
)

// wait compares ways to wait: all ranks meet at one counter, the last to come
// turns the page, and the others wait for that in one way or another. A row's
// engine is the way.
var wait = &op{
	name:   "wait",
	text:   "ranks that meet at a counter: 1, 2, 4 and 8 ranks a CPU, in each way to wait",
	ways:   []way{{engine: "auto"}},
	least:  2,
	trials: waitTrials,
}

// perCPU are the ranks a CPU that wait is measured with.
var perCPU = []int{1, 2, 4, 8}

func waitTrials(j *job) (rows []trial) {
	for _, k := range perCPU {
		n := min(k*len(j.CPUs), j.Ranks)
		if n < 2 || len(rows) > 0 && rows[len(rows)-1].task.Ranks == n {
			continue
		}
		for _, policy := range policies {
			t := j.task(0)
			t.Op, t.Engine, t.Ranks = waitTask, policy.name, n
			rows = append(rows, trial{row: Row{Op: j.op.name, Engine: policy.name, Ranks: n}, task: t})
		}
	}
	return rows
}

// gate is where they meet, in rank 0's page.
type gate struct {
	count uint64 // arrivals, of all: each adds one
	_     [120]byte
	// turn is how often all have come, by the last of them, who stores first turn
	// and then page, on which those sleep who sleep at once.
	turn uint64
	page uint32
	_    [116]byte
}

// policy is a way to wait for a turn of the gate.
type policy struct {
	name string
	wait func(ctx context.Context, m *meeting, turn uint64) error
}

var policies = []policy{
	{"symwin", asSymwin},
	{"spin", func(ctx context.Context, m *meeting, turn uint64) error {
		return await(ctx, &m.gate.turn, turn, line.Pause)
	}},
	{"sched_yield", func(ctx context.Context, m *meeting, turn uint64) error {
		return await(ctx, &m.gate.turn, turn, futex.Yield)
	}},
	{"Gosched", func(ctx context.Context, m *meeting, turn uint64) error {
		return await(ctx, &m.gate.turn, turn, runtime.Gosched)
	}},
	{"futex", func(ctx context.Context, m *meeting, turn uint64) error {
		for atomic.LoadUint64(&m.gate.turn) != turn {
			sleep(&m.gate.page, uint32(turn-1))
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	}},
}

// meeting is one rank's side of the gate.
type meeting struct {
	gate  *gate
	ranks uint64
	turn  uint64 // meetings so far
	place shmsync.Place
	flags *shmsync.Flags
	bells []*shmsync.Doorbell
}

func asSymwin(ctx context.Context, m *meeting, turn uint64) error {
	m.flags.Expect(turn)
	if m.place.Quick(m.flags) {
		return nil
	}
	return m.place.Wait(ctx, m.flags, unseen{})
}

// unseen is an overseer that sees nothing: what these ranks wait for comes.
type unseen struct{}

func (unseen) Over() bool                  { return false }
func (unseen) Ended() error                { return nil }
func (unseen) Inspect(time.Duration) error { return nil }

// meet comes, and waits for the others.
func (m *meeting) meet(ctx context.Context, wait func(ctx context.Context, m *meeting, turn uint64) error) error {
	m.turn++
	if atomic.AddUint64(&m.gate.count, 1) < m.turn*m.ranks {
		return wait(ctx, m, m.turn)
	}
	atomic.StoreUint64(&m.gate.turn, m.turn)
	atomic.StoreUint32(&m.gate.page, uint32(m.turn)) // a full barrier, before the look at who sleeps
	for _, b := range m.bells {
		b.Ring()
	}
	if m.bells == nil {
		futex.Wake(&m.gate.page, int(m.ranks))
	}
	return nil
}

const waitTask = "wait for all"

func openWait(ctx context.Context, r *rank, t task) (*exercise, error) {
	me, pages := r.world.Rank(), r.meter.board.pages
	if me == 0 {
		pages[0].gate = gate{}
	}
	x := newExercise(t, me)
	if err := r.world.Team().Barrier(ctx); err != nil || me >= t.Ranks {
		return x, err
	}
	m := &meeting{gate: &pages[0].gate, ranks: uint64(t.Ranks)}
	way := policies[slices.IndexFunc(policies, func(p policy) bool { return p.name == t.Engine })]
	if t.Engine == "symwin" {
		m.place.Bell = &pages[me].bell
		if t.Ranks <= len(r.CPUs) {
			m.place.Policy.Spin = shmsync.DefaultSpin
		}
		m.flags = shmsync.NewFlags([]*uint64{&m.gate.turn}, 0)
		for _, p := range pages[:t.Ranks] {
			m.bells = append(m.bells, &p.bell)
		}
	}
	cpu := r.CPUs[me%len(r.CPUs)]
	x.cpu, x.shortest = &cpu, blockFor(t.Ranks, len(r.CPUs))
	x.repeat(func(ctx context.Context) error { return m.meet(ctx, way.wait) })
	return x, nil
}
