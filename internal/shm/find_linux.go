package shm

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FindOpen finds the regions of Dir that processes of this user have open, with
// or without a name, by the links in /proc/*/fd; one entry per inode, ordered by
// name. Processes that end meanwhile or whose descriptors may not be read are
// passed over. May be called concurrently.
func FindOpen() ([]Found, error) {
	processes, err := os.ReadDir("/proc")
	if err == nil {
		_, err = os.Readlink("/proc/self") // an empty directory is no /proc either
	}
	if err != nil {
		return nil, fmt.Errorf("shm: find regions: %w: there is no /proc here; mount -t proc proc /proc", err)
	}
	dir := Dir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // as the kernel writes it
	}
	type inode struct{ dev, ino uint64 }
	regions := map[inode]*Found{}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		for _, f := range openIn(pid, dir) {
			at := inode{f.Dev, f.Ino}
			have := regions[at]
			if have == nil {
				have = &f
				regions[at] = have
			} else if pid < have.Pid {
				have.Pid, have.Fd = pid, f.Fd
			}
			if !slices.Contains(have.Pids, pid) {
				have.Pids = append(have.Pids, pid)
			}
		}
	}
	found := make([]Found, 0, len(regions))
	for _, f := range regions {
		slices.Sort(f.Pids)
		found = append(found, *f)
	}
	slices.SortFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ino, b.Ino))
	})
	return found, nil
}

// openIn lists the descriptors of one process that lead to regions in dir.
func openIn(pid int, dir string) (found []Found) {
	fds := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(fds)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		link := filepath.Join(fds, e.Name())
		path, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(path, filepath.Join(dir, ownPrefix())) {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(link, &st) != nil || judge(link, &st) != nil {
			continue
		}
		fd, _ := strconv.Atoi(e.Name())
		found = append(found, Found{
			Pid: pid, Fd: fd, Name: strings.TrimSuffix(filepath.Base(path), deleted),
			Dev: st.Dev, Ino: st.Ino, Linked: st.Nlink > 0,
		})
	}
	return found
}
