package ranktest

import (
	"context"
	"sync/atomic"
	"time"
)

// Inside is a context that ends with err a moment after it was first asked. Calls
// ask at their door: however late one comes there on a busy machine, it is let in,
// and ends inside.
func Inside(ctx context.Context, err error) context.Context {
	return &inside{Context: ctx, err: err, done: make(chan struct{})}
}

type inside struct {
	context.Context
	err   error
	asked atomic.Bool
	done  chan struct{}
}

func (c *inside) Done() <-chan struct{} { return c.done }

func (c *inside) Err() error {
	if !c.asked.Swap(true) {
		time.AfterFunc(5*time.Millisecond, func() { close(c.done) })
		return c.Context.Err()
	}
	select {
	case <-c.done:
		return c.err
	default:
		return c.Context.Err()
	}
}
