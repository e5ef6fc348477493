package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process that becomes one program after the other is found at every look, also
// in between, where it has no environment.
func TestWhoIsBecomingAnotherProgramIsFound(t *testing.T) {
	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, os.WriteFile(again, []byte("exec /bin/sh $0\n"), 0o600))
	cmd := exec.Command("/bin/sh", again)
	cmd.Env = append(os.Environ(), markVar+"=becoming")
	require.NoError(t, cmd.Start())
	defer func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}()
	for range 2000 {
		require.True(t, carries(cmd.Process.Pid, "becoming"))
	}
}

// Who has no environment and will not get one is not waited for.
func TestWhoHasNoEnvironmentIsNotBecoming(t *testing.T) {
	none := func(pid int, who string) {
		require.False(t, carries(pid, ""), who)
		require.True(t, placeOfEnvironment(pid).settled(0), who)
	}
	empty := exec.Command("/bin/sleep", "1000")
	empty.Env = []string{} // nil would be ours
	require.NoError(t, empty.Start())
	pid := empty.Process.Pid
	none(pid, "an empty one")
	require.NoError(t, empty.Process.Kill())
	require.Eventually(t, func() bool { state, _, _ := stat(procDir(pid)); return state == "Z" }, watchdog, 1)
	none(pid, "the dead")
	_ = empty.Wait()
	none(pid, "the gone")
	if text, _ := os.ReadFile("/proc/2/comm"); string(text) == "kthreadd\n" {
		none(2, "the kernel's own")
	}
}
