package shm

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A file system says ENOSPC when it is full. A memory cgroup says nothing: the
// kernel kills somebody in it. So what is reserved is compared with its limit
// before. What others take between that look and the reservation, and what the
// program itself touches later, nobody can foresee.

// memoryLimit is one limit that this process is under: of its cgroup or of one
// above it.
type memoryLimit struct {
	dir           string
	limit, usage  string   // files
	reclaimable   []string // lines of memory.stat: what goes before anybody is killed
	unlimitedFrom int64    // version 1 writes "no limit" as a huge number
}

var (
	version2 = memoryLimit{limit: "memory.max", usage: "memory.current",
		reclaimable: []string{"active_file", "inactive_file"}, unlimitedFrom: math.MaxInt64}
	version1 = memoryLimit{limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes",
		reclaimable: []string{"total_active_file", "total_inactive_file"}, unlimitedFrom: 1 << 62}
)

// memoryLimits lists where the limits stand, given /proc/self/cgroup and where
// the hierarchies are mounted. In a container the path may be the host's, which
// is not to be seen here; then the mount's own top is the container's.
func memoryLimits(self []byte, mount string) (found []memoryLimit) {
	for line := range strings.Lines(string(self)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		kind, top := version2, mount
		switch {
		case parts[0] == "0" && parts[1] == "":
		case strings.Contains(","+parts[1]+",", ",memory,"):
			kind, top = version1, filepath.Join(mount, "memory")
		default:
			continue
		}
		// From the process's own cgroup upwards.
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			l := kind
			l.dir = filepath.Join(top, at)
			if _, err := os.Stat(filepath.Join(l.dir, l.limit)); err == nil {
				found = append(found, l)
			}
			if at == "/" {
				break
			}
		}
	}
	return found
}

// room is how much can be taken under the limit; false where there is none.
func (l *memoryLimit) room() (int64, bool) {
	limit, ok := number(filepath.Join(l.dir, l.limit))
	if !ok || limit >= l.unlimitedFrom {
		return 0, false
	}
	usage, ok := number(filepath.Join(l.dir, l.usage))
	if !ok {
		return 0, false
	}
	stat, _ := os.ReadFile(filepath.Join(l.dir, "memory.stat"))
	for line := range bytes.Lines(stat) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		for _, r := range l.reclaimable {
			if n, err := strconv.ParseInt(value, 10, 64); name == r && err == nil {
				usage -= n
			}
		}
	}
	// A little is always on its way: page tables, pages that each CPU has taken
	// ahead, the stacks of new threads.
	return max(0, limit-limit/64-max(0, usage)), true
}

func number(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil // "max" is none
}

// limits are this process's; it is not moved while it lives.
var limits = sync.OnceValue(func() []memoryLimit {
	self, _ := os.ReadFile("/proc/self/cgroup")
	return memoryLimits(self, "/sys/fs/cgroup")
})

// CgroupRoom is how much memory the tightest memory cgroup above this process
// has to give, page cache included; limited is false where there is no limit.
// Swap does not count: shared memory that is swapped is none.
func CgroupRoom() (room int64, limited bool) {
	for _, l := range limits() {
		if r, ok := l.room(); ok && (!limited || r < room) {
			room, limited = r, true
		}
	}
	return room, limited
}

// MemoryRoom is how much memory this process can still take without swapping, and
// without being killed for it; known is false where nobody tells.
func MemoryRoom() (room int64, known bool) {
	room = freeMemory()
	if most, limited := CgroupRoom(); limited && (room == 0 || most < room) {
		return most, true
	}
	return room, room > 0
}

// sparing reserves as do does, n bytes, but never more than the memory cgroup
// has. Where that is tight, sharers that reserve at the same moment do it one
// after the other, or each would find room that is another's already.
func (f *File) sparing(fd int, n int64, do func() error) error {
	room, limited := CgroupRoom()
	if !limited || n <= room/int64(max(1, f.sharers.Load())) {
		return do()
	}
	f.reserving.Lock()
	defer f.reserving.Unlock()
	for begun := time.Now(); ; {
		mine, err := tryLock(fd, exclusive, reserveByte)
		if err != nil {
			return fmt.Errorf("shm: %s: lock: %w", f.name, err)
		}
		if mine {
			break
		}
		if !again(begun) {
			return fmt.Errorf("shm: %s: reserve: %w", f.name, ErrBusy)
		}
	}
	defer tryLock(fd, none, reserveByte)
	if room, _ := CgroupRoom(); n > room {
		return &NoSpaceError{Need: n, Have: room, Where: Cgroup, Err: unix.ENOMEM}
	}
	return do()
}
