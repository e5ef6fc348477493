package symmem

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// environment makes the given settings ("NAME=VALUE", # begins a comment) the only
// ones of any launcher for the rest of the test, which may itself run under one.
func environment(t *testing.T, settings string) {
	t.Helper()
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		for _, prefix := range []string{"SYMWIN_", "OMPI_", "PMI", "MPI_", "SLURM", "TORCHELASTIC_", "LOCAL_", "WORLD_", "MASTER_", "RANK"} {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "")
			}
		}
	}
	for line := range strings.Lines(settings) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && line[0] != '#' {
			t.Setenv(name, value)
		}
	}
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "launchers", name+".env"))
	require.NoError(t, err)
	return string(text)
}

// What launchers have set for one of their processes, as recorded.
func TestLaunchers(t *testing.T) {
	seen := map[string]string{}
	for name, want := range map[string]struct {
		short      string // of the launcher; "": no rank of anybody
		rank, size int
	}{
		"openmpi-4.1.4":      {"ompi", 1, 2},
		"openmpi-5":          {"ompi", 2, 4},
		"mpich-4.0.2":        {"mpich", 1, 2},
		"slurm-22.05-srun":   {"slurm", 2, 3},
		"slurm-22.05-pmi2":   {"slurm", 1, 2},
		"slurm-22.05-mpich":  {"mpich", 1, 2},
		"slurm-22.05-sbatch": {"", 0, 1},
		"slurm-22.05-salloc": {"", 0, 1},
		"torchrun":           {"torchrun", 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, recorded(t, name))
			o, err := fromEnvironment()
			require.NoError(t, err)
			require.Equal(t, want.rank, o.Rank)
			require.Equal(t, want.size, o.Size)
			if want.short == "" {
				require.Empty(t, o.Job)
				return
			}
			require.NoError(t, checkJob(o.Job))
			require.True(t, strings.HasPrefix(o.Job, want.short+"-"), o.Job)
			require.NotEmpty(t, o.origin)
			again, err := fromEnvironment()
			require.NoError(t, err)
			require.Equal(t, o, again)
			if want.short != "mpich" { // both are children of this test's parent
				require.Empty(t, seen[o.Job])
			}
			seen[o.Job] = name
		})
	}
}

// Jobs at one time have names of their own: whatever tells two of them apart does.
func TestLaunchersTellJobsApart(t *testing.T) {
	for name, changes := range map[string][]string{
		"openmpi-4.1.4":    {"PMIX_NAMESPACE=251396098"},
		"slurm-22.05-srun": {"SLURM_JOB_ID=4", "SLURM_STEP_ID=1"},
		"torchrun":         {"TORCHELASTIC_RUN_ID=none", "MASTER_PORT=29500", "TORCHELASTIC_RESTART_COUNT=1"},
	} {
		environment(t, recorded(t, name))
		o, err := fromEnvironment()
		require.NoError(t, err)
		seen := []string{o.Job}
		for _, change := range changes {
			environment(t, recorded(t, name)+change)
			o, err := fromEnvironment()
			require.NoError(t, err)
			require.NotContains(t, seen, o.Job, change)
			seen = append(seen, o.Job)
		}
	}
}

// A launcher's job of one is a world of one: several may run at once, with
// whatever name.
func TestLaunchersOfOne(t *testing.T) {
	for name, one := range map[string]string{
		"openmpi-4.1.4":    "OMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=1\nOMPI_COMM_WORLD_LOCAL_SIZE=1",
		"mpich-4.0.2":      "PMI_RANK=0\nPMI_SIZE=1\nMPI_LOCALNRANKS=1",
		"slurm-22.05-srun": "SLURM_PROCID=0\nSLURM_STEP_NUM_TASKS=1",
		"torchrun":         "LOCAL_RANK=0\nLOCAL_WORLD_SIZE=1\nWORLD_SIZE=1",
	} {
		environment(t, recorded(t, name)+one)
		o, err := fromEnvironment()
		require.NoError(t, err, name)
		require.Equal(t, Options{Size: 1}, o, name)
	}
	// Special steps of Slurm's are no steps.
	for _, step := range []string{"4294967291", "4294967290", "batch", "extern"} {
		environment(t, recorded(t, "slurm-22.05-srun")+"SLURM_STEP_ID="+step)
		o, err := fromEnvironment()
		require.NoError(t, err)
		require.Equal(t, Options{Size: 1}, o, step)
	}
}

// Each error names the variable and the way out.
func TestLaunchersRefused(t *testing.T) {
	for name, c := range map[string]struct{ recorded, change, want string }{
		"own, half": {"", "SYMWIN_RANK=0",
			`SYMWIN_JOB is not set, though SYMWIN_RANK=0 is: set SYMWIN_JOB, SYMWIN_RANK, SYMWIN_SIZE, or none of them (start it by "env -u SYMWIN_RANK PROGRAM")`},
		"own, no number": {"", "SYMWIN_JOB=a\nSYMWIN_RANK=first\nSYMWIN_SIZE=2", `SYMWIN_RANK="first" is no number from 0; set it right, or start it by "env -u SYMWIN_JOB -u SYMWIN_RANK -u SYMWIN_SIZE PROGRAM"`},
		"own, beyond":    {"", "SYMWIN_JOB=a\nSYMWIN_RANK=2\nSYMWIN_SIZE=2", "SYMWIN_RANK=2 and SYMWIN_SIZE=2: ranks count from 0, so the last of 2 is 1"},
		"own, none":      {"", "SYMWIN_JOB=a\nSYMWIN_RANK=0\nSYMWIN_SIZE=0", "SYMWIN_SIZE=0: a job has 1 to 1024 ranks"},
		"own, too many":  {"", "SYMWIN_JOB=a\nSYMWIN_RANK=2\nSYMWIN_SIZE=2000", "SYMWIN_SIZE=2000: a job has 1 to 1024 ranks"},

		"Open MPI, hosts": {"openmpi-4.1.4", "OMPI_COMM_WORLD_SIZE=4",
			"OMPI_COMM_WORLD_SIZE=4 but OMPI_COMM_WORLD_LOCAL_SIZE=2: ranks are on other hosts, and shared memory ends at this one; run all on one host, or, for one world on each host, set SYMWIN_JOB, SYMWIN_RANK and SYMWIN_SIZE"},
		"Open MPI, no key": {"openmpi-4.1.4", "PMIX_NAMESPACE=",
			"PMIX_NAMESPACE is not set: this Open MPI gives no name to the job; set SYMWIN_JOB, SYMWIN_RANK and SYMWIN_SIZE"},
		"Open MPI, half": {"", "OMPI_COMM_WORLD_RANK=0",
			`OMPI_COMM_WORLD_SIZE is not set, though OMPI_COMM_WORLD_RANK=0 of Open MPI is: if Open MPI did not start this program, start it by "env -u OMPI_COMM_WORLD_RANK PROGRAM"; if it did, set SYMWIN_JOB, SYMWIN_RANK and SYMWIN_SIZE`},
		"Open MPI, no number": {"openmpi-4.1.4", "OMPI_COMM_WORLD_SIZE=two", `OMPI_COMM_WORLD_SIZE="two" is no number from 0: if Open MPI did not start this program, start it by "env -u`},
		"MPICH, no number":    {"", "PMI_RANK=x\nPMI_SIZE=2\nMPI_LOCALNRANKS=2", `PMI_RANK="x" is no number from 0: if MPICH did not start this program, start it by "env -u PMI_RANK -u PMI_SIZE PROGRAM"; if it did, set SYMWIN_JOB`},
		"MPICH, locals":       {"mpich-4.0.2", "MPI_LOCALNRANKS=x", `MPI_LOCALNRANKS="x" is no number from 0: if MPICH`},
		"Slurm, nodes":        {"slurm-22.05-srun", "SLURM_STEP_NUM_NODES=x", `SLURM_STEP_NUM_NODES="x" is no number from 0: if Slurm`},

		"MPICH, hosts":  {"mpich-4.0.2", "PMI_SIZE=4", "PMI_SIZE=4 but MPI_LOCALNRANKS=2: ranks are on other hosts"},
		"MPICH, half":   {"mpich-4.0.2", "PMI_SIZE=", "PMI_SIZE is not set, though PMI_RANK=1 of MPICH is: if MPICH did not"},
		"MPICH, unsure": {"mpich-4.0.2", "MPI_LOCALNRANKS=", "MPI_LOCALNRANKS is not set, though PMI_RANK=1 of MPICH is"},

		"Slurm, hosts": {"slurm-22.05-srun", "SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_NODES=2: ranks are on other hosts"},
		"Slurm, half":  {"slurm-22.05-srun", "SLURM_PROCID=", `SLURM_PROCID is not set, though SLURM_STEP_ID=0 of Slurm is: if Slurm did not start this program, start it by "env -u SLURM_STEP_ID PROGRAM"`},
		"Slurm, key":   {"slurm-22.05-srun", "SLURM_JOB_ID=", "SLURM_JOB_ID is not set: this Slurm gives no name"},

		"torchrun, hosts": {"torchrun", "WORLD_SIZE=8", "WORLD_SIZE=8 but LOCAL_WORLD_SIZE=4: ranks are on other hosts"},
		"torchrun, half":  {"torchrun", "LOCAL_RANK=", "LOCAL_RANK is not set, though TORCHELASTIC_RUN_ID="},
		"torchrun, port":  {"torchrun", "MASTER_PORT=", "MASTER_PORT is not set: this torchrun"},

		"nested": {"openmpi-4.1.4", "PMI_RANK=0\nPMI_SIZE=3\nMPI_LOCALNRANKS=3",
			`OMPI_COMM_WORLD_RANK=1 (Open MPI) and PMI_RANK=0 (MPICH) are set: one of them is left from an outer job, and which, nothing tells; ` +
				`start it by "env -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE PROGRAM" or by "env -u PMI_RANK -u PMI_SIZE PROGRAM", or set SYMWIN_JOB, SYMWIN_RANK and SYMWIN_SIZE`},
	} {
		t.Run(name, func(t *testing.T) {
			settings := c.change
			if c.recorded != "" {
				settings = recorded(t, c.recorded) + c.change
			}
			environment(t, settings)
			_, err := fromEnvironment()
			require.ErrorIs(t, err, ErrUsage)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// What a launcher has left of its variables is no world of one, unless it may be
// there for other reasons.
func TestLaunchersHalf(t *testing.T) {
	for name, c := range map[string]struct{ settings, want string }{
		"torchrun, local rank": {"LOCAL_RANK=0\nWORLD_SIZE=2",
			`LOCAL_WORLD_SIZE is not set, though LOCAL_RANK=0 of torchrun is: if torchrun did not start this program, start it by "env -u LOCAL_RANK -u WORLD_SIZE PROGRAM"; if it did, set SYMWIN_JOB, SYMWIN_RANK and SYMWIN_SIZE`},
		"torchrun, by hand":    {"RANK=0\nWORLD_SIZE=2\nMASTER_ADDR=x\nMASTER_PORT=1", "LOCAL_RANK is not set, though RANK=0 of torchrun is"},
		"torchrun, both ranks": {"RANK=1\nLOCAL_RANK=1\nWORLD_SIZE=2", "LOCAL_WORLD_SIZE is not set, though LOCAL_RANK=1 of torchrun is"},
		"prterun":              {"PMIX_RANK=0\nPMIX_NAMESPACE=x", "OMPI_COMM_WORLD_SIZE is not set, though PMIX_RANK=0 of prterun is"},
		"Slurm, no job":        {"SLURM_PROCID=0\nSLURM_NTASKS=2", "SLURM_STEP_NUM_TASKS is not set, though SLURM_PROCID=0 of Slurm is"},
		"Slurm, second task":   {"SLURM_PROCID=1\nSLURM_NTASKS=2\nSLURM_JOB_ID=3", "SLURM_STEP_NUM_TASKS is not set"},
		"Slurm, no step":       {recorded(t, "slurm-22.05-srun") + "SLURM_STEP_ID=", "SLURM_STEP_ID is not set: this Slurm gives no name to the job"},

		"a rank":               {"RANK=1", ""},
		"a local rank":         {"LOCAL_RANK=1", ""},
		"a size":               {"WORLD_SIZE=2", ""},
		"an address":           {"MASTER_ADDR=x\nMASTER_PORT=1\nWORLD_SIZE=2", ""},
		"one":                  {"RANK=0\nLOCAL_RANK=0\nWORLD_SIZE=1", ""},
		"a namespace":          {"PMIX_NAMESPACE=x", ""},
		"one task":             {"SLURM_PROCID=0\nSLURM_NTASKS=1", ""},
		"salloc":               {recorded(t, "slurm-22.05-salloc"), ""},
		"sbatch":               {recorded(t, "slurm-22.05-sbatch"), ""},
		"sbatch, a batch step": {recorded(t, "slurm-22.05-sbatch") + "SLURM_STEP_ID=4294967291", ""},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, c.settings)
			o, err := fromEnvironment()
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, Options{Size: 1}, o)
				return
			}
			require.ErrorIs(t, err, ErrUsage)
			require.ErrorContains(t, err, c.want)
		})
	}
	// Whoever was at work in full, or was named by hand, is not doubted.
	for _, whole := range []string{recorded(t, "openmpi-4.1.4"), recorded(t, "slurm-22.05-srun"), "SYMWIN_JOB=a\nSYMWIN_RANK=0\nSYMWIN_SIZE=2\n"} {
		environment(t, whole+"RANK=0\nWORLD_SIZE=2\nMASTER_ADDR=x\nMASTER_PORT=1")
		o, err := fromEnvironment()
		require.NoError(t, err)
		require.NotEmpty(t, o.Job)
	}
}

// What Join would begin with, all filled in, and what it would end with.
func TestFromEnvironment(t *testing.T) {
	environment(t, "")
	o, err := FromEnvironment()
	require.NoError(t, err)
	require.Empty(t, o.Job)
	require.Equal(t, 1, o.Size)
	require.EqualValues(t, defaultWindow, o.Window)
	environment(t, recorded(t, "torchrun")+"SYMWIN_WINDOW=2M\nSYMWIN_STALL=0")
	o, err = FromEnvironment()
	require.NoError(t, err)
	require.Equal(t, 3, o.Rank)
	require.EqualValues(t, 2<<20, o.Window)
	require.Negative(t, o.Stall)
	for settings, want := range map[string]string{
		"SYMWIN_WINDOW=0":    "a window of 0 bytes is too small: give --window, or SYMWIN_WINDOW, at least 1 MiB",
		"SYMWIN_WINDOW=4095": "is too small",
		"SYMWIN_JOB=a":       "SYMWIN_RANK is not set",
		"SYMWIN_STALL=soon":  "SYMWIN_STALL",
		"SYMWIN_JOB=a/b\nSYMWIN_RANK=0\nSYMWIN_SIZE=2": "a/b",
	} {
		environment(t, settings)
		_, err := FromEnvironment()
		require.ErrorIs(t, err, ErrUsage)
		require.ErrorContains(t, err, want)
		_, joined := Join(t.Context())
		require.EqualError(t, joined, err.Error())
	}
}

// Own variables win, and what stands beside them is told where joining fails.
func TestOwnVariablesWin(t *testing.T) {
	const mine = "SYMWIN_JOB=a\nSYMWIN_RANK=1\nSYMWIN_SIZE=3\n"
	environment(t, recorded(t, "openmpi-4.1.4")+mine+"SYMWIN_HOSTED=1")
	o, err := fromEnvironment()
	require.NoError(t, err)
	require.Equal(t, "a", o.Job)
	require.Equal(t, 1, o.Rank)
	require.Equal(t, 3, o.Size)
	require.Contains(t, o.origin, "so is OMPI_COMM_WORLD_RANK=1 (Open MPI): if it is Open MPI that started this program, start it by \"env -u SYMWIN_JOB -u SYMWIN_RANK -u SYMWIN_SIZE PROGRAM\"")
	environment(t, mine)
	o, err = fromEnvironment()
	require.NoError(t, err)
	require.Contains(t, o.origin, "set by hand: the 3 processes need the same SYMWIN_JOB and SYMWIN_SIZE")
}

func TestAncestor(t *testing.T) {
	pid, started := ancestor("no such program")
	require.Equal(t, os.Getppid(), pid)
	require.NotZero(t, started)
}
