package doctor

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/shm"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ChildCommand {
		os.Exit(Child(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// What every machine has that can run these tests, and that nothing is left.
func TestGather(t *testing.T) {
	before, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	t.Setenv("SYMWIN_WINDOW", "wide")
	t.Setenv("SYMWIN_WINDWO", "1G")
	f, err := Gather()
	require.NoError(t, err)
	require.NotEmpty(t, f.Kernel)
	require.Positive(t, f.CPUCount)
	require.GreaterOrEqual(t, f.CPUCount, f.Cores)
	require.Positive(t, f.MemoryTotal)
	require.Equal(t, shm.Dir(), f.Shm.Dir)
	require.NotEmpty(t, f.Shm.Filesystem)
	require.Empty(t, f.Clone)
	if f.Line != nil {
		require.Positive(t, f.Line.Median)
		require.LessOrEqual(t, f.Line.Fast, f.Line.Median)
		require.LessOrEqual(t, f.Line.Median, f.Line.Slow)
	}
	require.Contains(t, f.Settings, Set{Name: "SYMWIN_WINDOW", Value: "wide", Error: `SYMWIN_WINDOW: "wide" is no size: write 4096, 64K, 16M or 1G`})
	require.Contains(t, f.Settings, Set{Name: "SYMWIN_WINDWO", Value: "1G", Unknown: true})
	require.Equal(t, `SYMWIN_WINDOW: bad value: "wide" is no size: write 4096, 64K, 16M or 1G`, f.Join)
	require.Equal(t, "/dev/shm", f.Shm.Mount)
	after, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	require.LessOrEqual(t, len(after), len(before)+2) // the runtime's own epoll and eventfd
}
