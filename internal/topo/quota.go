package topo

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Quota is the CPU time, in CPUs, that the cgroups of a process allow it: the
// tightest limit from its own upwards. It is given the text of /proc/self/cgroup
// and the tree that is mounted at /sys/fs/cgroup; false: there is no limit. In a
// container the path may be the host's, which is not to be seen there; then the
// top of the tree is the container's.
func Quota(self string, tree fs.FS) (cpus float64, limited bool) {
	for line := range strings.Lines(self) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		read, tops := quotaOf1, []string{"cpu", "cpu,cpuacct"}
		switch {
		case parts[0] == "0" && parts[1] == "":
			read, tops = quotaOf2, []string{".", "unified"}
		case !strings.Contains(","+parts[1]+",", ",cpu,"):
			continue
		}
		for _, top := range tops {
			for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
				if q, ok := read(tree, path.Join(top, at)); ok && (!limited || q < cpus) {
					cpus, limited = q, true
				}
				if at == "/" {
					break
				}
			}
		}
	}
	return cpus, limited
}

// quotaOf1 reads a cgroup of version 1; -1 is no quota.
func quotaOf1(tree fs.FS, dir string) (float64, bool) {
	return ratio(text(tree, path.Join(dir, "cpu.cfs_quota_us")), text(tree, path.Join(dir, "cpu.cfs_period_us")))
}

// quotaOf2 reads one of version 2: "max 100000" or "50000 100000".
func quotaOf2(tree fs.FS, dir string) (float64, bool) {
	quota, period, _ := strings.Cut(text(tree, path.Join(dir, "cpu.max")), " ")
	return ratio(quota, period)
}

func ratio(quota, period string) (float64, bool) {
	q, errQ := strconv.ParseFloat(quota, 64)
	p, errP := strconv.ParseFloat(period, 64)
	return q / p, errQ == nil && errP == nil && q > 0 && p > 0
}

func text(tree fs.FS, name string) string {
	b, err := fs.ReadFile(tree, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
