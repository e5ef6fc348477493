package topo

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Cache is the size in bytes of the data cache of the given level that serves
// cpu, from sys, the tree that Linux mounts at /sys; 0 where it is not told.
func Cache(sys fs.FS, cpu, level int) int64 {
	dir := fmt.Sprintf("devices/system/cpu/cpu%d/cache", cpu)
	caches, err := fs.ReadDir(sys, dir)
	if err != nil {
		return 0
	}
	for _, c := range caches {
		read := func(name string) string {
			text, err := fs.ReadFile(sys, path.Join(dir, c.Name(), name))
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(text))
		}
		if read("level") != strconv.Itoa(level) || read("type") == "Instruction" {
			continue
		}
		kib, ok := strings.CutSuffix(read("size"), "K")
		size, err := strconv.ParseInt(kib, 10, 64)
		if !ok || err != nil || size < 0 || size > 1<<30 {
			return 0
		}
		return size << 10
	}
	return 0
}
