package ranktest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/internal/env"
)

// OnTmpfs makes a tmpfs of its own, mounted with options ("size=64m"), the
// directory of shared memory for the rest of the calling test and its ranks, and
// returns true. It does so in a process with private mounts: the test calls it
// first, and returns at once where it is false; the test has run there by then.
// Where no private mounts are allowed the test is skipped.
func OnTmpfs(t *testing.T, options string) bool {
	t.Helper()
	const inner = "RANKTEST_INNER"
	if os.Getenv(inner) == t.Name() {
		dir := t.TempDir()
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
			t.Skip("no tmpfs can be mounted here: ", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		t.Setenv(env.KeyShmDir, dir)
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), inner+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("no private mounts allowed here: ", err)
	}
	if err != nil {
		t.Errorf("with private mounts: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
	return false
}
