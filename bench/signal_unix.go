package bench

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// onSignal lets a signal be the cause that ctx ends of, until stop. Ranks that run
// get it from their launcher; this is for whoever goes on after them.
func onSignal(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			cancel(endedBy(s.(syscall.Signal)))
		case <-ctx.Done():
		}
	}()
	return func() { signal.Stop(signals) }
}

// endedBy is a signal as the cause of an end.
type endedBy syscall.Signal

func (s endedBy) Error() string { return "ended by: " + syscall.Signal(s).String() }

// code is the exit code that tells it.
func (s endedBy) code() int { return 128 + int(s) }
