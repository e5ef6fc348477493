package launch

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/symmem"
)

// TestShortOfRoom: the line names what is needed, what there is, and the remedy;
// and there is none where all is well, or where nobody knows.
func TestShortOfRoom(t *testing.T) {
	g := symmem.Geometry{Size: 4, Window: 256 << 20, Backing: symmem.BackingShm}
	mem := g
	mem.Backing = symmem.BackingMemfd
	for _, c := range []struct {
		g          symmem.Geometry
		asked      bool
		free, room int64
		want       []string
	}{
		{g, true, 1 << 30, -1, nil},
		{g, true, -1, -1, nil},
		{g, true, 1<<30 - 1, -1, []string{"4 ranks with windows of 256M may take 1G", shm.Dir() + " has 1023M", "--backing memfd"}},
		{mem, true, 1, -1, nil},
		{mem, true, 1, 1 << 30, nil},
		{mem, true, 1, 700<<20 + 5, []string{"may take 1G", "the memory cgroup has 700M", "--window", "docker --memory"}},
		{g, true, 1, 1, []string{"the memory cgroup has 0"}},
		{g, false, 1 << 30, 500 << 20, nil},
		{g, false, 64 << 20, 20 << 20, []string{"4 ranks need some 32M", "the memory cgroup has 20M"}},
		{g, false, 31 << 20, -1, []string{"4 ranks need some 32M", shm.Dir() + " has 31M"}},
	} {
		got := shortOfRoom(c.g, c.asked, c.free, c.room)
		for _, want := range c.want {
			require.Contains(t, got, want)
		}
		require.Equal(t, c.want == nil, got == "", "%+v: %s", c, got)
		require.NotContains(t, got, "\n")
	}
}

// TestWarnedOfASmallCgroup: in a real one, before a rank says anything; the job
// runs all the same.
func TestWarnedOfASmallCgroup(t *testing.T) {
	if !ranktest.InCgroup(t, 160<<20) {
		return
	}
	for window, warned := range map[int64]bool{2 << 20: false, 128 << 20: true} {
		var out bytes.Buffer
		r := Run(context.Background(), Options{N: 2, Window: window, Stdout: &out, Stderr: &out}, []string{"/bin/echo", "here"})
		require.Zero(t, r.ExitCode, out.String())
		if warned {
			require.Regexp(t, `^shmrun: 2 ranks with windows of 128M may take 256M, the memory cgroup has \d+M: .*\nhere\nhere\n$`, out.String())
		} else {
			require.Equal(t, "here\nhere\n", out.String())
		}
	}
}
