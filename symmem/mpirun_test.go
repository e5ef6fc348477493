package symmem_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/ranktest"
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

// mpirun starts n processes of a scenario by a real launcher, and returns what
// they said. Where shell is set, it stands between launcher and process.
func mpirun(t *testing.T, launcher string, n int, scenario string, shell bool, extra ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(launcher)
	if err != nil {
		t.Skipf("no %s here (Debian: apt-get install openmpi-bin mpich)", launcher)
	}
	ctx, stop := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer stop()
	self, err := os.Executable()
	require.NoError(t, err)
	args := []string{"-n", fmt.Sprint(n), self, "-test.run=^$"}
	if shell {
		args = []string{"-n", fmt.Sprint(n), "sh", "-c", self + " -test.run='^$'; exit $?"}
	}
	if launcher == "mpirun.openmpi" {
		args = append([]string{"--allow-run-as-root", "--oversubscribe"}, args...)
	}
	c := exec.CommandContext(ctx, path, args...)
	// Open MPI's launchers, started at once, trip over each other's directories.
	c.Env = append(append(os.Environ(), "RANKTEST_SCENARIO="+scenario, "TMPDIR="+t.TempDir()), extra...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// Under the real launchers, whose variables say who a rank is; two jobs at once.
func TestJoinUnderMpirun(t *testing.T) {
	for _, launcher := range []string{"mpirun.openmpi", "mpirun.mpich"} {
		t.Run(launcher, func(t *testing.T) {
			if _, err := exec.LookPath(launcher); err != nil {
				t.Skipf("no %s here (Debian: apt-get install openmpi-bin mpich)", launcher)
			}
			var jobs sync.WaitGroup
			for i := range 2 {
				jobs.Go(func() {
					out, err := mpirun(t, launcher, 3, "tell-size", i == 1)
					if err != nil || strings.Count(out, "of 3, barrier: <nil>") != 3 {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
			jobs.Wait()
		})
	}
}

// mpirun inside a rank of shmrun: the outer job's variables are what its processes
// find first, and the error says so.
func TestMpirunInsideAJob(t *testing.T) {
	host, err := symmem.NewHost(fmt.Sprintf("outer-%d", os.Getpid()), symmem.Geometry{Size: 1, Window: 64 << 20})
	require.NoError(t, err)
	defer host.Close()
	settled, err := host.Settle(true) // the outer rank has joined
	require.True(t, settled && err == nil, "%v", err)
	for launcher, want := range map[string]string{"mpirun.openmpi": "(Open MPI)", "mpirun.mpich": "(MPICH)"} {
		t.Run(launcher, func(t *testing.T) {
			out, err := mpirun(t, launcher, 2, "tell-size", false, host.Env(0)...)
			require.Error(t, err)
			require.Contains(t, out, "is not being started any more")
			require.Contains(t, out, want)
			require.Contains(t, out, `"env -u SYMWIN_JOB -u SYMWIN_RANK -u SYMWIN_SIZE PROGRAM"`)
		})
	}
}

// A process that inherited the variables of a job that is over waits for ranks
// that never come, and is told why.
func TestJoinWithStaleVariables(t *testing.T) {
	c := exec.Command("/proc/self/exe", "-test.run=^$")
	c.Env = append(os.Environ(), "RANKTEST_SCENARIO=tell-size", "SYMWIN_JOIN_TIMEOUT=0.1", "SYMWIN_WINDOW=64M",
		"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=over")
	out, err := c.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "rank 1 of job ompi-")
	require.Contains(t, string(out), "the job's name and size come from Open MPI (OMPI_COMM_WORLD_RANK=0, OMPI_COMM_WORLD_SIZE=2)")
	require.Contains(t, string(out), `if Open MPI did not start this program, start it by "env -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE PROGRAM"`)
}
