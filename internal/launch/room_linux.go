package launch

import (
	"fmt"
	"os"

	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/symmem"
)

// warnOfRoom says, before a rank is started, that there is less memory than the
// windows may take. It is no error: a window is address space, and a program may
// need little of it; where it needs more than there is, an Alloc is refused on all
// ranks. But whoever has said how large windows are to be had better hear of it
// now; and a default window is nobody's word, so of that only the least counts
// which any job takes.
func (j *job) warnOfRoom() {
	free, err := shm.Free()
	if err != nil {
		free = -1
	}
	cgroup, limited := shm.CgroupRoom()
	if !limited {
		cgroup = -1
	}
	if text := shortOfRoom(j.host.Geometry(), j.Window != 0 || os.Getenv(env.KeyWindow) != "", free, cgroup); text != "" {
		j.say("%s", text)
	}
}

// leastOfRank is what a rank takes with little to do: its control block, an
// engine's area and staging, and a Go program around it.
const leastOfRank = 8 << 20

// shortOfRoom is the warning, or "". free is what the directory of shared memory
// has, room what the memory cgroup has, negative: no limit.
func shortOfRoom(g symmem.Geometry, asked bool, free, room int64) string {
	need, what := int64(g.Size)*leastOfRank, fmt.Sprintf("%s need some %s", Count(g.Size), env.FormatSize(int64(g.Size)*leastOfRank))
	if asked {
		need = int64(g.Size) * g.Window
		what = fmt.Sprintf("%s with windows of %s may take %s", Count(g.Size), env.FormatSize(g.Window), env.FormatSize(need))
	}
	switch {
	case room >= 0 && room < need:
		return fmt.Sprintf("%s, the memory cgroup has %s: what does not fit is refused, and a program that touches the rest is killed; give a smaller --window or fewer ranks, or raise the limit (docker --memory, srun --mem)",
			what, wholeMiB(room))
	case g.Backing == symmem.BackingShm && free >= 0 && free < need:
		return fmt.Sprintf("%s, %s has %s: what does not fit is refused; give a smaller --window or --backing memfd, or make it larger (mount -o remount,size=…, docker --shm-size)",
			what, shm.Dir(), wholeMiB(free))
	}
	return ""
}

func wholeMiB(n int64) string { return env.FormatSize(n &^ (1<<20 - 1)) }
