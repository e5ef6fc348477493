package symmem_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/symmem"
)

func init() {
	scenarios["tell-size"] = func(ctx context.Context) error {
		return joined(ctx, func(w *symmem.World) error {
			fmt.Printf("rank %d of %d, barrier: %v\n", w.Rank(), w.Size(), w.Team().Barrier(ctx))
			return nil
		})
	}
}

// Under the real mpirun, whose variables say who a rank is.
func TestJoinUnderOpenMPI(t *testing.T) {
	mpirun, err := exec.LookPath("mpirun.openmpi")
	if err != nil {
		t.Skip("no mpirun.openmpi here (Debian: apt-get install openmpi-bin)")
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(ctx, mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "3",
		"-x", "RANKTEST_SCENARIO=tell-size", self, "-test.run=^$")
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, 3, strings.Count(string(out), "of 3, barrier: <nil>"), "%s", out)
}

// What Open MPI's variables can say that makes one host impossible.
func TestOpenMPIOnSeveralHosts(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"other hosts": {map[string]string{"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
			"OMPI_COMM_WORLD_RANK": "0", "PMIX_NAMESPACE": "x"}, "OMPI_COMM_WORLD_LOCAL_SIZE=2"},
		"no key": {map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
			"OMPI_COMM_WORLD_RANK": "0"}, "PMIX_NAMESPACE is not set"},
		"half set":  {map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "x"}, "OMPI_COMM_WORLD_LOCAL_SIZE is not set"},
		"no number": {map[string]string{"OMPI_COMM_WORLD_SIZE": "two"}, `OMPI_COMM_WORLD_SIZE="two"`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kv := range os.Environ() { // a test may itself run under a launcher
				if k, _, _ := strings.Cut(kv, "="); strings.HasPrefix(k, "OMPI_") || strings.HasPrefix(k, "PMIX_") || strings.HasPrefix(k, "SYMWIN_") {
					t.Setenv(k, "")
				}
			}
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			_, err := symmem.Join(context.Background())
			require.ErrorIs(t, err, symmem.ErrUsage)
			require.ErrorContains(t, err, c.want)
		})
	}
}
