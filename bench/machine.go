package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// machine is one line about where and with what was measured.
func machine(cpus int) string {
	text := fmt.Sprintf("%d usable CPUs, %s %s, %s", cpus, runtime.GOOS, runtime.GOARCH, runtime.Version())
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		text = fmt.Sprintf("%d usable CPUs, Linux %s %s, %s", cpus, bytes.TrimSpace(kernel), runtime.GOARCH, runtime.Version())
	}
	if model := field("/proc/cpuinfo", "model name"); model != "" {
		text = model + ", " + text
	}
	return text
}

// availableMemory is how many bytes may be taken without swapping, where the
// kernel says so.
func availableMemory() (int64, bool) {
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
