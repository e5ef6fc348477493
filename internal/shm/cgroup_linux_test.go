package shm

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCgroupRoom reads hierarchies as they were found on machines.
func TestCgroupRoom(t *testing.T) {
	stat2 := "anon 1000\nfile 500000\nshmem 100000\nactive_file 30000\ninactive_file 70000\nunevictable 5\n"
	stat1 := "cache 9\nactive_file 1\ninactive_file 1\ntotal_cache 500000\ntotal_inactive_file 70000\ntotal_active_file 30000\n"
	huge := strconv.Itoa(math.MaxInt64 &^ 4095) // version 1's "no limit"
	for what, c := range map[string]struct {
		self  string
		files map[string]string
		room  int64
		free  bool // there is no limit
	}{
		"no controller at all": {self: "0::/\n", free: true},
		"version 2, unlimited": {self: "0::/user.slice/a.scope\n", free: true, files: map[string]string{
			"user.slice/a.scope/memory.max": "max\n", "user.slice/a.scope/memory.current": "5\n", "user.slice/memory.max": "max\n"}},
		"version 2, page cache goes first": {self: "0::/job\n", room: 1_000_000 - 1_000_000/64 - 600_000 + 100_000, files: map[string]string{
			"job/memory.max": "1000000\n", "job/memory.current": "600000\n", "job/memory.stat": stat2}},
		"version 2, the one above is tighter": {self: "0::/a/b\n", room: 3, files: map[string]string{
			"a/b/memory.max": "1000000\n", "a/b/memory.current": "0\n", "a/memory.max": "500\n", "a/memory.current": "490\n"}},
		"version 2, over its limit": {self: "0::/a\n", room: 0, files: map[string]string{
			"a/memory.max": "1000\n", "a/memory.current": "5000\n", "a/memory.stat": stat2[:10]}},
		"version 2 in a container": {self: "0::/\n", room: 585, files: map[string]string{"memory.max": "1000\n", "memory.current": "400\n"}},
		"version 1": {self: "9:name=systemd:/\n4:memory:/docker/abc\n0::/\n", room: 1_000_000 - 1_000_000/64 - 600_000 + 100_000, files: map[string]string{
			"memory/docker/abc/memory.limit_in_bytes": "1000000\n", "memory/docker/abc/memory.usage_in_bytes": "600000\n",
			"memory/docker/abc/memory.stat": stat1, "memory/memory.limit_in_bytes": huge + "\n"}},
		"version 1, the host's path in a container": {self: "4:cpu,memory:/docker/abc\n", room: 285, files: map[string]string{
			"memory/memory.limit_in_bytes": "1000\n", "memory/memory.usage_in_bytes": "700\n"}},
		"version 1, unlimited": {self: "4:memory:/\n", free: true, files: map[string]string{
			"memory/memory.limit_in_bytes": huge + "\n", "memory/memory.usage_in_bytes": "700\n"}},
		"nonsense": {self: "memory\n::\n1:memory:/x\n0::/../../y\n", free: true, files: map[string]string{
			"memory/x/memory.limit_in_bytes": "lots\n", "y/memory.max": "-\n"}},
	} {
		t.Run(what, func(t *testing.T) {
			mount := t.TempDir()
			for name, text := range c.files {
				require.NoError(t, os.MkdirAll(filepath.Join(mount, filepath.Dir(name)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(mount, name), []byte(text), 0o600))
			}
			room, limited := int64(0), false
			for _, l := range memoryLimits([]byte(c.self), mount) {
				if r, ok := l.room(); ok && (!limited || r < room) {
					room, limited = r, true
				}
			}
			require.Equal(t, c.free, !limited)
			require.Equal(t, c.room, room)
		})
	}
}

// TestMemoryRoom: the tighter of the machine and the cgroup counts.
func TestMemoryRoom(t *testing.T) {
	defer func(was func() []memoryLimit) { limits = was }(limits)
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "job"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "job/memory.current"), []byte("0\n"), 0o644))
	rooms := map[string]int64{}
	for _, most := range []string{"6400", "max"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "job/memory.max"), []byte(most+"\n"), 0o644))
		limits = func() []memoryLimit { return memoryLimits([]byte("0::/job\n"), dir) }
		room, known := MemoryRoom()
		require.True(t, known)
		rooms[most] = room
	}
	require.Equal(t, int64(6400-6400/64), rooms["6400"])
	require.Greater(t, rooms["max"], rooms["6400"])
}
