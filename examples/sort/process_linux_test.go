package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/examples/internal/programtest"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/ranktest"
)

// A file system that is full while one rank spills or writes: the same line on
// all ranks, and no OUT.
func TestFullFileSystem(t *testing.T) {
	if !ranktest.OnTmpfs(t, "size=1m") {
		return
	}
	full := os.Getenv(env.KeyShmDir)
	dir, in := write(t, strings.Repeat("a line of a file that does not fit there\n", 100_000))
	for _, c := range []struct{ temp, out string }{{full, filepath.Join(dir, "out")}, {dir, filepath.Join(full, "out")}} {
		stdout, stderr, codes := inProcess(t, 3, "--memory", "1", "--temp", c.temp, in, c.out)
		require.Empty(t, stdout)
		require.Regexp(t, `^sort: write `+full+`/[^\n]+: no space left on device\n$`, stderr)
		require.Equal(t, []int{1, 1, 1}, codes)
		require.NoFileExists(t, c.out)
		left, err := os.ReadDir(full)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// A file larger than the windows of all ranks, as processes.
func TestProcesses(t *testing.T) {
	shmrun, sort := programtest.Build(t, t.TempDir(), "sort")

	random := rand.New(rand.NewPCG(9, 10))
	var text strings.Builder
	for text.Len() < 14<<20 {
		fmt.Fprintf(&text, "%d %s\n", random.Uint64()>>random.IntN(64), "filler that makes lines longer"[:random.IntN(30)])
	}
	dir, in := write(t, text.String())
	temp := t.TempDir()
	command := exec.CommandContext(t.Context(), shmrun, "-n", "3", "--window", "4M", sort, "--temp", temp, in, filepath.Join(dir, "out"))
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `^\d+ lines, 14\.\d MB, in .* with 3 ranks: .* [1-9]\d* runs spilled\n$`, string(out))
	requireFile(t, sorted(t, text.String()), filepath.Join(dir, "out"))
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)

	command = exec.CommandContext(t.Context(), shmrun, "-n", "3", sort, filepath.Join(dir, "nowhere"), in)
	out, err = command.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, command.ProcessState.ExitCode())
	require.Equal(t, 1, strings.Count(string(out), "no such file or directory"), "%s", out)
	requireFile(t, text.String(), in)
}
