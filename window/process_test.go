package window_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
)

// joined joins, runs f, and leaves.
func joined(f func(context.Context, *symmem.World) error) ranktest.Scenario {
	return func(ctx context.Context) error {
		w, err := symmem.Join(ctx)
		if err != nil {
			return err
		}
		return errors.Join(f(ctx, w), w.Close())
	}
}

// scenarios run in processes of their own.
var scenarios = map[string]ranktest.Scenario{
	"exchange": joined(func(ctx context.Context, w *symmem.World) error {
		for _, part := range []int{0, 1, 1000, 20_000} {
			if err := exchange(ctx, w, part, 2*8+3); err != nil {
				return fmt.Errorf("%d elements: %w", part, err)
			}
		}
		return nil
	}),
	"program": joined(func(ctx context.Context, w *symmem.World) error { return program(ctx, w, 21, 150) }),
}

func TestExchangeBetweenProcesses(t *testing.T) {
	for _, n := range []int{2, 3, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { ranktest.Start(t, n, "exchange").Wait() })
	}
}

func TestRandomProgramInProcesses(t *testing.T) {
	for _, backing := range []string{"shm", "memfd"} {
		t.Run(backing, func(t *testing.T) {
			ranktest.Start(t, 4, "program", "SYMWIN_WINDOW=2M", "SYMWIN_BACKING="+backing).Wait()
		})
	}
}
