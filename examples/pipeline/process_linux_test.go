package main

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin/examples/internal/programtest"
)

func TestProcesses(t *testing.T) {
	shmrun, pipeline := programtest.Build(t, t.TempDir(), "pipeline")
	out, err := exec.CommandContext(t.Context(), shmrun, "-n", "3", pipeline, "--side", "256", "--rows", "4", "--steps", "80", "--reps", "1").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, "^"+fmt.Sprintf(answer, 3, 80)+"$", string(out))
}
