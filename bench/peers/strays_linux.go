package peers

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Some files no setting puts into a tree's directories: MPICH makes one in /dev/shm
// while it starts, and takes its name away when all ranks have it. Who is killed in
// between leaves it. So what the processes of a tree have in their hands is looked
// at before they are killed.

const sharedDir = "/dev/shm/"

// inShared is the names in /dev/shm: what was there before a tree is not the tree's.
func inShared() (names []string) {
	entries, _ := os.ReadDir(sharedDir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// held is the files in /dev/shm that a process has mapped or open; one that has no
// name any more has "(deleted)" behind it, which is none.
func held(pid int) (names []string) {
	maps, _ := os.ReadFile(filepath.Join(procDir(pid), "maps"))
	for line := range bytes.Lines(maps) {
		if at := bytes.Index(line, []byte(" "+sharedDir)); at >= 0 {
			names = append(names, string(bytes.TrimSpace(line[at:])))
		}
	}
	dir := filepath.Join(procDir(pid), "fd")
	fds, _ := os.ReadDir(dir)
	for _, fd := range fds {
		if name, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && strings.HasPrefix(name, sharedDir) {
			names = append(names, name)
		}
	}
	return names
}

// freeze stops processes, so that they make nothing more, and gives them a moment to
// obey: one that waits for what it has just forked to become a program cannot.
func freeze(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	const looks = 100
	for _, pid := range pids {
		_, _, birth := stat(procDir(pid))
		for k := 0; k < looks && !(member{pid, birth}).still(); k++ {
			time.Sleep(time.Millisecond)
		}
	}
}

// removeStrays removes those of names that were not there before and belong to us,
// when whoever had them is dead. What somebody else has, too, stays.
func removeStrays(names, before []string) {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		top, _, _ := strings.Cut(strings.TrimPrefix(name, sharedDir), "/")
		info, err := os.Lstat(name)
		return err != nil || !info.Mode().IsRegular() || slices.Contains(before, top) ||
			info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid())
	})
	// The dead close their files a moment after they can be seen to be dead.
	const looks = 100
	for k := 0; k < looks && len(names) > 0; k++ {
		others := heldByAny()
		names = slices.DeleteFunc(names, func(name string) bool {
			return !slices.Contains(others, name) && os.Remove(name) == nil
		})
		time.Sleep(time.Millisecond)
	}
}

// heldByAny is what any process has in /dev/shm that we may look at.
func heldByAny() (names []string) {
	all, _ := os.ReadDir("/proc")
	for _, entry := range all {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			names = append(names, held(pid)...)
		}
	}
	return names
}
