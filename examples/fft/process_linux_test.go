package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/examples/internal/programtest"
)

func TestProcesses(t *testing.T) {
	shmrun, fft := programtest.Build(t, t.TempDir(), "fft")
	out, err := exec.CommandContext(t.Context(), shmrun, "-n", "3", fft, "--rows", "250", "--cols", "333", "--check").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `^250 × 333 points in .* with 3 ranks, .*\nall 83250 coefficients are those of one process\n$`, string(out))
}
