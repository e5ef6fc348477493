package peers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain gives every test run directories of its own, and fails it for anything
// that is left in them, for processes, goroutines and shared memory.
func TestMain(m *testing.M) {
	startTimeout, versionTimeout, buildTimeout, lastWords = watchdog, watchdog, watchdog, watchdog
	if role := os.Getenv("PEERS_TEST_ROLE"); role != "" {
		os.Unsetenv("PEERS_TEST_ROLE")
		os.Exit(roles[role](os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == RankCommand {
		os.Exit(RankMain(context.Background(), os.Args[2:]))
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "peers-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		os.Setenv("TMPDIR", dir)
		// Compiled programs are shared with other runs unless a test says otherwise.
		code := m.Run()
		for what, left := range map[string]any{"processes": ours(), "files": leftFiles(), "goroutines": goleak.Find()} {
			if s := fmt.Sprint(left); s != "[]" && s != "<nil>" {
				fmt.Fprintf(os.Stderr, "FAIL: left over %s: %s\n", what, s)
				code = 1
			}
		}
		return code
	}())
}

// ours are the processes of peers that this process opened.
func ours() (pids []int) { return markedBy(fmt.Sprint(os.Getpid(), "-")) }

// markedBy finds processes whose mark has a prefix.
func markedBy(prefix string) (pids []int) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environs {
		text, _ := os.ReadFile(name)
		if strings.Contains(string(text), markVar+"="+prefix) {
			var pid int
			fmt.Sscanf(name, "/proc/%d/environ", &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

// leftFiles are what our peers have left, in the directory for files and in that for
// shared memory.
func leftFiles() (names []string) {
	for _, dir := range []string{os.TempDir(), "/dev/shm"} {
		found, _ := filepath.Glob(fmt.Sprintf("%s/%s%d-*", dir, dirPrefix, os.Getpid()))
		names = append(names, found...)
	}
	return names
}
