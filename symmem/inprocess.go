package symmem

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/symwin/symwin/internal/futex"
	shmsync "github.com/symwin/symwin/sync"
)

// Run runs f as n ranks, each a goroutine of this process, over the process's own
// heap: the same code as between processes, for tests and examples, and visible
// to the race detector. Windows have 16 MiB.
//
// A rank whose f returns nil has left, as by Close. An error, a panic or
// runtime.Goexit (t.FailNow) of one rank ends the world for the others, whose
// waits return ErrRankFailed naming it. Run returns when all have ended: the
// error of the rank that failed first, or nil. A panic is raised again, as a text
// with the rank and its stack. (A rank that defers Close itself has left, by
// then, before Run sees its error: the others get ErrLeft.)
func Run(ctx context.Context, n int, f func(context.Context, *World) error) error {
	return RunWith(ctx, Options{Size: n}, f)
}

// RunWith is Run with options; Size is the number of ranks, Job and Rank do not
// count.
func RunWith(ctx context.Context, o Options, f func(context.Context, *World) error) error {
	o.Job, o.Backing = "in-process", BackingShm // replaced by the heap
	o, err := o.withDefaults(heapWindow)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	g, err := Geometry{Size: o.Size, Window: o.Window}.normal()
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	r := heapRegion(o.Job, g)
	cpus := usableCPUs()
	worlds := make([]*World, g.Size)
	for rank := range worlds {
		o.Rank = rank
		b := r.blocks[rank]
		b.who.pid, b.who.cpus = thisPid(), cpus
		b.life.Store(uint32(rank+1) | futex.Waiters)
		r.head.joined.Add(1)
		worlds[rank] = newWorld(o, r)
		worlds[rank].place.Policy, worlds[rank].shared = shmsync.Policy{InProcess: true}, true
	}
	var run inProcess
	for _, w := range worlds {
		run.wg.Add(1)
		shmsync.Join()
		go run.rank(ctx, w, f)
	}
	run.wg.Wait()
	if run.panicked.Load() {
		panic(run.value)
	}
	return run.err
}

// inProcess plays the kernel for the ranks of one process.
type inProcess struct {
	wg       sync.WaitGroup
	mu       sync.Mutex
	err      error
	panicked atomic.Bool
	value    any
}

func (p *inProcess) rank(ctx context.Context, w *World, f func(context.Context, *World) error) {
	defer p.wg.Done()
	defer shmsync.Leave()
	how := "its goroutine ended by runtime.Goexit"
	defer func() {
		if how == "" {
			_ = w.Close()
			return
		}
		if v := recover(); v != nil {
			stack := make([]byte, 16<<10)
			stack = stack[:runtime.Stack(stack, false)]
			p.fail(w, fmt.Errorf("panic: %v", v), fmt.Sprintf("rank %d panicked: %v\n\n%s", w.rank, v, stack))
			return
		}
		p.fail(w, errors.New(how), nil)
	}()
	err := f(ctx, w)
	if err != nil {
		how = err.Error()
		p.fail(w, err, nil)
	}
	how = ""
}

// fail notes the first failure and marks the rank dead, as the kernel would.
func (p *inProcess) fail(w *World, err error, panicValue any) {
	p.mu.Lock()
	// A rank that only reports another's failure is not its cause.
	if p.err == nil || (secondary(p.err) && !secondary(err)) {
		p.err = fmt.Errorf("rank %d: %w", w.rank, err)
	}
	if panicValue != nil && !p.panicked.Load() {
		p.value = panicValue
		p.panicked.Store(true)
	}
	p.mu.Unlock()
	if !w.closed.Swap(true) {
		w.abortMu.Lock()
		w.r.abort(w.rank, AbortRankFailed, []int{w.rank}, err.Error())
		w.abortMu.Unlock()
		w.mine.life.Or(futex.OwnerDied) // behind it: who finds the mark first does not know why
	}
}

// secondary reports whether an error tells of another rank's failure.
func secondary(err error) bool {
	return errors.Is(err, ErrRankFailed) || errors.Is(err, ErrAborted) || errors.Is(err, ErrLeft)
}

// alone makes a world of one: no guard, no file.
func alone(o Options) (*World, error) {
	o.Rank, o.Size, o.Job = 0, 1, "alone"
	g, err := Geometry{Size: 1, Window: o.Window}.normal()
	if err != nil {
		return nil, err
	}
	r, err := privateRegion(o.Job, g)
	if err != nil {
		return nil, err
	}
	b := r.blocks[0]
	b.who.pid, b.who.cpus = thisPid(), usableCPUs()
	b.life.Store(1 | futex.Waiters)
	o.log("no launcher's variables are set: a world of one")
	return newWorld(o, r), nil
}

func thisPid() uint32 { return uint32(os.Getpid()) }
