package window_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

func init() { scenarios["no memory"] = joined(noMemory) }

// noMemory runs with 64 MiB of shared memory for all windows together, far less
// than their addresses.
func noMemory(ctx context.Context, w *symmem.World) error {
	n := int64(w.Size())
	for range 3 {
		// Each takes a third of what there is; the last to ask finds too little,
		// and says so to those that have theirs.
		_, err := window.Alloc[byte](ctx, w, 24<<20)
		var short *symmem.NoSpaceError
		if !errors.As(err, &short) || short.Rank < 0 || short.Rank >= w.Size() || short.Need < 24<<20 || short.Have >= 24<<20 ||
			short.Where != os.Getenv("SYMWIN_SHM_DIR") {
			return fmt.Errorf("more than there is: %w", err)
		}
		_, err = window.OpenArea(ctx, w.Team(), opening(3), 24<<20)
		if !errors.As(err, &short) || short.Need != 24<<20 {
			return fmt.Errorf("an area of more than there is: %w", err)
		}
		// What is there can be had: the refused ones gave theirs back.
		win, err := window.Alloc[byte](ctx, w, int(56<<20/n))
		if err != nil {
			return fmt.Errorf("as much as there is: %w", err)
		}
		for i := 0; i < win.Len(); i += 4096 {
			win.Local()[i] = 1 // no page is missing
		}
		if err := win.Free(ctx); err != nil {
			return err
		}
	}
	return exchange(ctx, w, 1000, 5)
}

// A full file system is an error on all ranks, and never a fault.
func TestNoMemoryIsAgreedUpon(t *testing.T) {
	const mark = "WINDOW_TEST_PRIVATE_MOUNTS"
	if os.Getenv(mark) == "" {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), mark+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, os.ErrPermission) {
			t.Skip("no private mounts allowed here: ", err)
		}
		t.Logf("%s", out)
		require.NoError(t, err)
		return
	}
	dir, err := os.MkdirTemp("", "w") // a name short enough to cross whole
	require.NoError(t, err)
	defer os.Remove(dir)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("no tmpfs can be mounted here: ", err)
	}
	defer func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
	t.Setenv("SYMWIN_SHM_DIR", dir)
	ranktest.Start(t, 3, "no memory", "SYMWIN_WINDOW=64M", "SYMWIN_BACKING=shm").Wait()
}
