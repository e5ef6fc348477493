package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/examples/internal/programtest"
)

func TestEveryRankSaysHello(t *testing.T) {
	shmrun, hello := programtest.Build(t, t.TempDir(), "hello")
	out, err := exec.CommandContext(t.Context(), shmrun, "-n", "3", hello).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, 3, strings.Count(string(out), "\n"), "%s", out)
	for _, want := range []string{"rank 0 of 3 passed true", "rank 1 of 3 passed true", "rank 2 of 3 passed true"} {
		require.Contains(t, string(out), want)
	}
}
