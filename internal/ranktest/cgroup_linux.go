package ranktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// InCgroup puts the rest of the calling test and its ranks into a memory cgroup
// with a limit in bytes, and returns true. It does so in a process of its own: the
// test calls it first, and returns at once where it is false; the test has run
// there by then. Where no cgroup can be made the test is skipped.
func InCgroup(t *testing.T, limit int64) bool {
	t.Helper()
	const inner = "RANKTEST_CGROUP"
	if dir := os.Getenv(inner); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
		return true
	}
	name := fmt.Sprintf("symwin-test-%d", os.Getpid())
	dir := ""
	for _, kind := range []struct{ top, limit string }{
		{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	} {
		at := filepath.Join(kind.top, name)
		if os.Mkdir(at, 0o700) != nil {
			continue
		}
		// Not created: a directory that is none of a cgroup has no such file.
		if f, err := os.OpenFile(filepath.Join(at, kind.limit), os.O_WRONLY, 0); err == nil {
			_, err = f.WriteString(strconv.FormatInt(limit, 10))
			f.Close()
			if err == nil {
				dir = at
				break
			}
		}
		_ = os.Remove(at)
	}
	if dir == "" {
		t.Skip("no memory cgroup can be made here")
	}
	defer func() {
		for range 1000 { // until the last of its processes is buried
			if os.Remove(dir) == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), inner+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("in a cgroup: %v\n%s", err, out)
	}
	return false
}
