package peers

import (
	"bufio"
	"fmt"
	"os"

	"github.com/symwin/symwin/internal/shm"
	"golang.org/x/sys/unix"
)

// cgroupRoom is [shm.CgroupRoom], or a test's.
var cgroupRoom = shm.CgroupRoom

// availableMemory is what the machine and the memory cgroup can still give, or 0 where
// the machine does not tell.
func availableMemory() int64 {
	free := freeMemory()
	if room, limited := cgroupRoom(); limited {
		return max(min(free, room), 1)
	}
	return free
}

func freeMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var kib int64
		if n, _ := fmt.Sscanf(s.Text(), "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// availableShared is what /dev/shm can still take, or 0 where there is none.
func availableShared() int64 {
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) != nil {
		return 0
	}
	return int64(fs.Bavail) * fs.Bsize
}
