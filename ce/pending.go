package ce

import (
	"context"
	"errors"
	"fmt"
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
// the context's, and symmem.ErrTimeout for a deadline.
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
			err := ctx.Err()
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("%w: %w", symmem.ErrTimeout, err)
			}
			return fmt.Errorf("waiting for a batch, which goes on: %w", err)
		}
	}
	return nil
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

// Start puts the batch into the stream's queue and returns at once. It runs when
// all batches before it in the stream and all that are named in after, of this or
// other streams, have ended, well or not, as of now. The batch, and what its
// copies read, stay untouched until then.
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
	p.begin()
	if err := s.check(b); err != nil {
		p.end(err)
		return p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.end(fmt.Errorf("this stream is %w", symmem.ErrClosed))
		return p
	}
	s.queue.batches = append(s.queue.batches, b)
	s.busy.Store(true)
	if !s.queue.moving {
		s.queue.moving = true
		shmsync.Join() // other waits of this process let it run
		go s.queue.move()
	}
	return p
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
		s.queue.batches = append(s.queue.batches[:0], s.queue.batches[1:]...)
		s.busy.Store(s.closed || len(s.queue.batches) > 0)
		s.mu.Unlock()
		b.pending.end(err)
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
