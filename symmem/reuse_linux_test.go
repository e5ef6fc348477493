package symmem

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/internal/shm"
)

// TestReusedPidIsDead: a process number that is another's by now does not keep
// its rank alive, where deaths are noticed by it.
func TestReusedPidIsDead(t *testing.T) {
	child := exec.Command("sleep", "1000")
	require.NoError(t, child.Start())
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	pid := child.Process.Pid
	for what, c := range map[string]struct {
		started uint64
		want    Life
	}{
		"the same process":  {startTime(pid), Alive},
		"an earlier one":    {startTime(pid) - 1, Dead},
		"nobody knows when": {0, Alive}, // a rank without /proc
	} {
		t.Run(what, func(t *testing.T) {
			r := heapRegion("reuse", Geometry{Size: 2, Window: hugeBytes})
			who := &r.blocks[1].who
			who.pid, who.started, who.watched = uint32(pid), c.started, 1
			r.blocks[1].life.Store(uint32(pid) | leftWord)
			g := &guard{r: r, rank: 0}
			g.sleepsOn.Store(-1)
			g.pollPid(1, false)
			require.Equal(t, c.want, r.blocks[1].lifeNow())
		})
	}
}

// TestMemfdOfAnother: the windows' memory is found by a process number and a
// descriptor; what another process has there by now is not taken for it.
func TestMemfdOfAnother(t *testing.T) {
	dir, err := os.MkdirTemp(shm.Dir(), "symwintest-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	t.Setenv("SYMWIN_SHM_DIR", dir)
	g := Geometry{Size: 2, Window: 2 << 20, Backing: BackingMemfd}
	r, err := createRegion("reuse", g)
	require.NoError(t, err)
	defer r.close()
	// A memfd of the same size and with the same seals, in its place.
	other, err := shm.CreateMem(g.windowsBytes())
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, unix.Dup3(other.Fd(), r.winFile.Fd(), unix.O_CLOEXEC))
	_, err = JoinWith(context.Background(), Options{Job: "reuse", Rank: 1, Size: 2, Window: 2 << 20, JoinTimeout: 5 * time.Second})
	require.ErrorIs(t, err, ErrRegion)
	require.ErrorContains(t, err, "is not the windows' memory")
	require.FileExists(t, filepath.Join(dir, shm.Name("reuse")))
}
