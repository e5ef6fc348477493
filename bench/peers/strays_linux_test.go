package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// strayName is a name in /dev/shm that no other test has.
func strayName(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(sharedDir); err != nil {
		t.Skip(err)
	}
	f, err := os.CreateTemp(sharedDir, "symwin-test-stray-")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, os.Remove(f.Name()))
	t.Cleanup(func() { _ = os.Remove(f.Name()) })
	return f.Name()
}

func appears(t *testing.T, name string) {
	t.Helper()
	require.Eventually(t, func() bool { _, err := os.Stat(name); return err == nil }, watchdog, time.Millisecond)
}

// A launcher that has made a file of its own in /dev/shm and is ended while it starts.
func TestFilesOfAStartThatIsEndedAreRemoved(t *testing.T) {
	stray, kept := strayName(t), strayName(t)
	fakes(t, fmt.Sprintf("exec 3<>%s 4<>%s; exec sleep 1000", kept, stray))
	require.NoError(t, os.WriteFile(kept, nil, 0o600)) // was there before
	job := Job{Op: "barrier", Ranks: 1, Timeout: watchdog}

	t.Run("given up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error)
		go func() {
			_, err := Open(ctx, "openmpi", job)
			ended <- err
		}()
		appears(t, stray)
		cancel()
		require.Error(t, <-ended)
		require.NoFileExists(t, stray)
		require.FileExists(t, kept)
	})
	t.Run("harness killed", func(t *testing.T) {
		cmd := exec.Command("/proc/self/exe", "openmpi", "starting")
		temp := t.TempDir()
		cmd.Env = append(os.Environ(), "PEERS_TEST_ROLE=harness", "TMPDIR="+temp)
		require.NoError(t, cmd.Start())
		appears(t, stray)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.Eventually(t, func() bool {
			left, _ := filepath.Glob(filepath.Join(temp, "*"))
			return len(left) == 0
		}, watchdog, time.Millisecond, "the guardian ends with the directories")
		require.NoFileExists(t, stray)
		require.FileExists(t, kept)
	})
}

// What somebody else has in his hands is not the tree's to remove.
func TestFilesThatOthersHaveStay(t *testing.T) {
	name := strayName(t)
	tree, err := newTree()
	require.NoError(t, err)
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	p, err := tree.start([]string{"sh", "-c", "exec 3<>" + name + "; echo ready; exec sleep 1000"}, nil, true)
	require.NoError(t, err)
	said := make([]byte, len("ready"))
	_, err = p.stdout.Read(said)
	require.NoError(t, err)
	require.Contains(t, held(p.cmd.Process.Pid), name)
	require.NoError(t, tree.fell())
	require.FileExists(t, name)
}
