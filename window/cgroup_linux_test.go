package window_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

func init() { scenarios["small cgroup"] = joined(smallCgroup) }

// smallCgroup asks for more than the memory cgroup has, which the kernel would
// not refuse but kill for, and then for what it has.
func smallCgroup(ctx context.Context, w *symmem.World) error {
	for range 3 {
		var short *symmem.NoSpaceError
		if _, err := window.Alloc[byte](ctx, w, 60<<20); !errors.As(err, &short) ||
			short.Where != "the memory cgroup" || short.Need < 60<<20 || short.Have >= short.Need {
			return fmt.Errorf("more than there is: %w", err)
		}
		if _, err := window.OpenArea(ctx, w.Team(), opening(3), 60<<20); err != nil && !errors.As(err, &short) {
			return fmt.Errorf("an area of more than there is: %w", err)
		} else if err == nil {
			return fmt.Errorf("three areas of 60 MiB were given")
		}
		win, err := window.Alloc[byte](ctx, w, 8<<20)
		if err != nil {
			return fmt.Errorf("as much as there is: %w", err)
		}
		for i := range win.Local() {
			win.Local()[i] = 1
		}
		if err := win.Free(ctx); err != nil {
			return err
		}
	}
	return nil
}

// TestSmallCgroup: it is an error on all ranks, and nobody is killed.
func TestSmallCgroup(t *testing.T) {
	if !ranktest.InCgroup(t, 160<<20) {
		return
	}
	for _, backing := range []string{"shm", "memfd"} {
		ranktest.Start(t, 3, "small cgroup", "SYMWIN_BACKING="+backing).Wait()
	}
}
