package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/symwin/symwin/internal/shm"
)

func cpuModel(usable int) string {
	model := field("/proc/cpuinfo", "model name")
	if model == "" {
		model = runtime.GOARCH
	}
	return fmt.Sprintf("%s, %d usable", model, usable)
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return "Linux " + string(bytes.TrimSpace(release))
}

func goVersion() string { return runtime.Version() + " " + runtime.GOARCH }

// cgroupRoom is [shm.CgroupRoom], or a test's.
var cgroupRoom = shm.CgroupRoom

// availableMemory is how many bytes may be taken without swapping, where the
// kernel says so, and without being killed for it.
func availableMemory() (int64, bool) {
	free, ok := freeMemory()
	if room, limited := cgroupRoom(); limited && (!ok || room < free) {
		return room, true
	}
	return free, ok
}

func freeMemory() (int64, bool) {
	digits, unit, _ := strings.Cut(field("/proc/meminfo", "MemAvailable"), " ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || unit != "kB" {
		return 0, false
	}
	return n << 10, true
}

// field is the value of the first line "name : value" of one of the kernel's
// tables, or "".
func field(table, name string) string {
	f, err := os.Open(table)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
