package topo

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestQuota(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		self string
		tree fstest.MapFS
		want float64 // 0: none
	}{
		"none":              {"0::/\n", fstest.MapFS{}, 0},
		"version 2, none":   {"0::/a\n", fstest.MapFS{"a/cpu.max": file("max 100000\n")}, 0},
		"version 2":         {"0::/a/b\n", fstest.MapFS{"a/b/cpu.max": file("150000 100000\n")}, 1.5},
		"version 2, above":  {"0::/a/b\n", fstest.MapFS{"a/b/cpu.max": file("400000 100000\n"), "a/cpu.max": file("100000 50000\n")}, 2},
		"in a container":    {"0::/docker/4711\n", fstest.MapFS{"cpu.max": file("100000 100000\n")}, 1},
		"outside":           {"0::/../other\n", fstest.MapFS{"cpu.max": file("100000 100000\n")}, 1},
		"version 1":         {"3:cpuset:/x\n1:cpu:/a\n0::/\n", fstest.MapFS{"cpu/a/cpu.cfs_quota_us": file("50000\n"), "cpu/a/cpu.cfs_period_us": file("100000\n")}, 0.5},
		"version 1, joined": {"4:cpu,cpuacct:/\n", fstest.MapFS{"cpu,cpuacct/cpu.cfs_quota_us": file("300000\n"), "cpu,cpuacct/cpu.cfs_period_us": file("100000\n")}, 3},
		"version 1, none":   {"1:cpu:/\n", fstest.MapFS{"cpu/cpu.cfs_quota_us": file("-1\n"), "cpu/cpu.cfs_period_us": file("100000\n")}, 0},
		"garbage":           {"cpu\n0::/\n", fstest.MapFS{"cpu.max": file("1 0\n")}, 0},
	} {
		cpus, limited := Quota(c.self, c.tree)
		require.Equal(t, c.want != 0, limited, name)
		if limited {
			require.Equal(t, c.want, cpus, name)
		}
	}
}
