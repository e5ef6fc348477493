package topo

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
)

// L2 and L3 are the sizes in bytes of CPU 0's caches, which all ranks read alike,
// whichever CPU they are on; where they are not told, something common.
var (
	L2 = sync.OnceValue(func() int64 { return cacheOr(2, 1<<20) })
	L3 = sync.OnceValue(func() int64 { return cacheOr(3, 16<<20) })
)

func cacheOr(level int, otherwise int64) int64 {
	if size := Cache(os.DirFS("/sys"), 0, level); size > 0 {
		return size
	}
	return otherwise
}

// Zen5 is the family of Zen 5.
const Zen5 = 26

// AMD is the family of AMD's processor, of which 25 is Zen 3 and Zen 4. It is 0 if the
// processor is another's, or nobody tells.
var AMD = sync.OnceValue(func() int {
	info, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return 0
	}
	defer info.Close()
	var head [4096]byte // the first processor's lines
	n, _ := io.ReadFull(info, head[:])
	return amdFamily(string(head[:n]))
})

func amdFamily(cpuinfo string) int {
	if !strings.Contains(cpuinfo, "AuthenticAMD") {
		return 0
	}
	for l := range strings.Lines(cpuinfo) {
		name, value, _ := strings.Cut(l, ":")
		if strings.TrimSpace(name) == "cpu family" {
			family, _ := strconv.Atoi(strings.TrimSpace(value))
			return max(family, 1)
		}
	}
	return 1
}

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
