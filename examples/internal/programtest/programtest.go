// Package programtest runs the examples in tests: as goroutines of the test, and as
// processes under shmrun. Nothing is left behind: what it builds lies in directories
// of the test.
package programtest

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/examples/internal/program"
)

// InProcess runs a program on n ranks of this process and returns what rank 0
// writes and everyone's exit status.
func InProcess(t testing.TB, n int, run program.Run, args ...string) (stdout, stderr string, codes []int) {
	t.Helper()
	var out, errs bytes.Buffer
	codes = make([]int, n)
	require.NoError(t, symwin.Run(t.Context(), n, func(ctx context.Context, w *symwin.World) error {
		o, e := io.Discard, io.Discard
		if w.Rank() == 0 {
			o, e = &out, &errs
		}
		code, err := run(ctx, w, args, o, e)
		codes[w.Rank()] = code
		return err
	}))
	return out.String(), errs.String(), codes
}

// Build builds shmrun and the program of the package under test into dir, and
// returns where they are. It skips a short test.
func Build(t testing.TB, dir, name string) (shmrun, program string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts programs")
	}
	out, err := exec.Command("go", "build", "-o", dir, "github.com/symwin/symwin/cmd/shmrun", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "shmrun"), filepath.Join(dir, name)
}
