package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryRankSaysHello(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts programs")
	}
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", dir, "github.com/symwin/symwin/cmd/shmrun", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), filepath.Join(dir, "shmrun"), "-n", "3", filepath.Join(dir, "hello")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, 3, strings.Count(string(out), "\n"), "%s", out)
	for _, want := range []string{"rank 0 of 3 passed true", "rank 1 of 3 passed true", "rank 2 of 3 passed true"} {
		require.Contains(t, string(out), want)
	}
}
