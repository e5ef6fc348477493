package ce

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/symwin/symwin/symmem"
	shmsync "github.com/symwin/symwin/sync"
)

// Pending is a batch that was started. It belongs to its Batch and tells about
// its latest start. All methods may be called concurrently.
type Pending struct {
	started atomic.Uint64 // how often, by whoever starts it
	ended   atomic.Uint64 // how often, by whoever ran it; err is written before
	err     error
	stream  atomic.Pointer[Stream]
	// wake holds a token once the batch has ended. Whoever takes it puts it back,
	// so that everybody who waits is woken.
	wake chan struct{}
}

// moment is one start of a batch.
type moment struct {
	p      *Pending
	number uint64
}

func (p *Pending) now() moment { return moment{p, p.started.Load()} }

// Done reports whether the batch has run, or failed.
func (p *Pending) Done() bool { return p.now().over() }

// Wait waits until the batch has run, and returns what Run would have. If ctx
// ends first, the batch goes on, and Wait may be called again: its error then is
// the context's, and symmem.ErrTimeout for a deadline. It is a *symmem.TimeoutError
// that names who is late, with this batch or one before it in the stream, where the
// stream has been waiting for that.
func (p *Pending) Wait(ctx context.Context) error {
	if err := p.now().await(ctx); err != nil {
		return err
	}
	return p.err
}

func (m moment) over() bool { return m.p.ended.Load() >= m.number }

// await waits for the end of one start. Its error is ctx's.
func (m moment) await(ctx context.Context) error {
	for !m.over() {
		select {
		case <-m.p.wake:
			if m.over() {
				m.p.token()
			}
		case <-ctx.Done():
			if m.over() {
				return nil
			}
			return fmt.Errorf("waiting for a batch, which goes on: %w", m.p.late(ctx.Err()))
		}
	}
	return nil
}

// late is the error of whoever waits no longer.
func (p *Pending) late(cause error) error {
	if s := p.stream.Load(); s != nil {
		if missing := s.late.now(); len(missing.Missing) > 0 {
			missing.Err = cause
			return &missing
		}
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", symmem.ErrTimeout, cause)
	}
	return cause
}

// lateness is whom an operation of a stream was last seen to wait for, when a wait
// of it had lasted for a while: told by the goroutine that waits, for others.
type lateness struct {
	underWay uint64 // the operation; one writer, and release suffices

	mu       sync.Mutex
	sequence uint64 // the operation that who is about
	who      symmem.TimeoutError
}

// note is told the team ranks that a wait misses. It comes from a condition's
// Missing, so not before a park has run out.
func (l *lateness) note(s *Stream, missing []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sequence = l.underWay
	if l.who.Missing == nil { // a wait that parks allocates nothing, either
		l.who.Missing, l.who.Doing = make([]int, 0, len(s.edges)), make([]symmem.Record, 0, len(s.edges))
	}
	l.who.Call = symmem.Record{Op: symmem.OpBatch, Engine: symmem.EngineCE, Team: s.team.Number(), Sequence: l.underWay}
	l.who.Missing, l.who.Doing = l.who.Missing[:0], l.who.Doing[:0]
	for _, r := range missing {
		l.who.Missing = append(l.who.Missing, s.team.WorldRank(r))
		l.who.Doing = append(l.who.Doing, s.team.LastCall(r))
	}
}

func (l *lateness) now() (who symmem.TimeoutError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sequence == atomic.LoadUint64(&l.underWay) {
		who = l.who
		who.Missing, who.Doing = slices.Clone(who.Missing), slices.Clone(who.Doing)
	}
	return who
}

// begin counts a start.
func (p *Pending) begin() moment {
	if p.wake == nil {
		p.wake = make(chan struct{}, 1)
	}
	select {
	case <-p.wake:
	default:
	}
	return moment{p, p.started.Add(1)}
}

// end tells everybody.
func (p *Pending) end(err error) {
	p.err = err
	p.ended.Add(1)
	p.token()
}

func (p *Pending) token() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// failed is a Pending of its own, for a batch whose own one is in use.
func failed(err error) *Pending {
	p := new(Pending)
	p.begin()
	p.end(err)
	return p
}

// queue is the batches of a stream that have been started and not run. Its one
// goroutine is there only while there are any, so that a stream at rest costs
// nothing, and one that is forgotten leaves nothing behind.
type queue struct {
	batches []*Batch
	moving  bool
	move    func() // a value made once: starting the goroutine allocates nothing
}

// Start puts the batch into the stream's queue and returns at once: of a large batch,
// within some 30 µs, on another CPU if one is idle. It runs when all batches before it
// in the stream and all that are named in after, of this or other streams, have ended,
// well or not, as of now. The batch, and what its copies read, stay untouched until
// then.
//
// What Run would return, Wait returns; bad arguments too. Starting a batch that
// has not ended is one of them. It allocates nothing in the steady state.
func (s *Stream) Start(b *Batch, after ...*Pending) *Pending {
	p := &b.pending
	if !p.Done() {
		return failed(fmt.Errorf("%w: this batch was started and has not ended", symmem.ErrUsage))
	}
	b.after = b.after[:0]
	for _, a := range after {
		if a != nil {
			b.after = append(b.after, a.now())
		}
	}
	p.stream.Store(s)
	p.begin()
	if err := s.check(b); err != nil {
		p.end(err)
		return p
	}
	givesWay := s.givesWay(b)
	if s.enqueue(b) && givesWay {
		runtime.Gosched()
	}
	return p
}

// givesWay reports whether the program's CPU is to go to b: it is large, need not wait
// for another batch, and the program finds a CPU of its own.
func (s *Stream) givesWay(b *Batch) bool {
	waits := slices.ContainsFunc(b.after, func(a moment) bool { return !a.over() })
	return b.footprint() >= handOver && !waits && s.idle.any()
}

// handOver is from how many bytes on, read and written, a batch begins on the CPU
// that the program is on, and the program moves to an idle one: Go wakes that for a
// goroutine that gives way within 30 µs, and for one that was just made in 110 (4 MiB
// and a computation as long, by the longer of both: 2.1 and 1.18, BenchmarkOverlap).
const handOver = 2 << 20

// idleCPU asks the Go scheduler whether it has a processor that runs nothing; before
// Go 1.26 it does not tell, and none counts as idle. Where all run something, whoever
// gives way waits for 10 ms for each goroutine before him.
type idleCPU struct{ running [1]metrics.Sample }

func (c *idleCPU) any() bool {
	c.running[0].Name = "/sched/goroutines/running:goroutines"
	metrics.Read(c.running[:]) // 50 ns
	v := c.running[0].Value
	return v.Kind() == metrics.KindUint64 && v.Uint64() < uint64(runtime.GOMAXPROCS(0))
}

// enqueue appends b to the queue and reports whether that set it in motion.
func (s *Stream) enqueue(b *Batch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		b.pending.end(fmt.Errorf("this stream is %w", symmem.ErrClosed))
		return false
	}
	s.queue.batches = append(s.queue.batches, b)
	s.team.Started(1)
	s.busy.Store(true)
	if s.queue.moving {
		return false
	}
	s.queue.moving = true
	shmsync.Join() // other waits of this process let it run
	go s.queue.move()
	return true
}

// move runs the queue until it is empty.
func (s *Stream) move() {
	defer shmsync.Leave()
	ctx := context.Background()
	for b := s.next(); b != nil; b = s.next() {
		for _, a := range b.after {
			_ = a.await(ctx) // such a context does not end
		}
		err := s.runBatch(ctx, b)
		s.mu.Lock()
		s.team.Started(-1)
		b.pending.end(err) // before the queue is empty: who finds it so may start the batch again
		s.queue.batches = append(s.queue.batches[:0], s.queue.batches[1:]...)
		s.busy.Store(s.closed || len(s.queue.batches) > 0)
		s.mu.Unlock()
	}
}

// next is the batch to run, or nil, and then the queue's goroutine ends.
func (s *Stream) next() *Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue.batches) == 0 {
		s.queue.moving = false
		return nil
	}
	return s.queue.batches[0]
}

// drain waits until nothing that was started is left: operations of a stream come
// one after the other. An error is local.
func (s *Stream) drain(ctx context.Context) error {
	if !s.busy.Load() {
		return nil
	}
	return s.drainBusy(ctx)
}

// drainBusy is apart so that drain inlines.
func (s *Stream) drainBusy(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed && len(s.queue.batches) > 0 {
		last := s.queue.batches[len(s.queue.batches)-1].pending.now()
		s.mu.Unlock()
		err := last.await(ctx)
		s.mu.Lock()
		if err != nil {
			return err
		}
	}
	if s.closed {
		return fmt.Errorf("this stream is %w", symmem.ErrClosed)
	}
	return nil
}
