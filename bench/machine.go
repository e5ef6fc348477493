package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
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

// memoryRoom is [shm.MemoryRoom], or a test's.
var memoryRoom = shm.MemoryRoom

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
