package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/topo"
)

// watchdog bounds what must happen at some time. It judges no speed.
const watchdog = 3 * time.Minute

// short is a slice that is measured for what it contains, not for its times.
var short = Point{Shortest: 20 * time.Microsecond, Budget: time.Millisecond}

// opened opens a peer, or skips the test with the reason.
func opened(t *testing.T, name string, j Job) Peer {
	t.Helper()
	if j.Timeout == 0 {
		j.Timeout = watchdog
	}
	j.Check = true
	p, err := Open(t.Context(), name, j)
	var missing *MissingError
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func cpus(t *testing.T) []int {
	t.Helper()
	list, err := topo.Usable()
	require.NoError(t, err)
	return list
}

// bound is a job of n ranks, bound if there is a CPU for each.
func bound(t *testing.T, op string, n int) Job {
	j := Job{Op: op, Ranks: n, CPUs: cpus(t), MaxBytes: 4096}
	if n <= len(j.CPUs) {
		for r := range n {
			j.Plan = append(j.Plan, []int{j.CPUs[r]})
		}
	}
	return j
}

// requireSlice measures one slice, in which nothing may be wrong.
func requireSlice(t *testing.T, p Peer, bytes int64) {
	t.Helper()
	point := short
	point.Bytes = bytes
	s, err := p.Measure(t.Context(), point)
	require.NoError(t, err)
	require.NotEmpty(t, s.Blocks)
	require.Positive(t, s.Ops)
	require.Zero(t, s.Wrong, "wrong bytes of %s at %d", p.Name(), bytes)
	for _, b := range s.Blocks {
		require.Positive(t, b)
	}
}

func TestMPI(t *testing.T) {
	for _, name := range []string{"openmpi", "mpich", "shmwin"} {
		for _, c := range []Job{
			bound(t, "latency", 2),
			{Op: "alltoallv", Skew: true, Ranks: 3, CPUs: cpus(t), MaxBytes: 4096, Touch: "full"},
		} {
			t.Run(name+"/"+c.Op, func(t *testing.T) {
				if name == "shmwin" && c.Op == "alltoallv" {
					c.Op, c.Skew = "allreduce", false
				}
				p := opened(t, name, c)
				require.Equal(t, name, p.Name())
				require.Regexp(t, `^(Open MPI|MPICH) \d+\.\d`, p.Version())
				require.Contains(t, p.Command(), "op="+c.Op)
				for _, bytes := range []int64{8, 8, 4, 4096} {
					requireSlice(t, p, bytes)
					requireStopped(t, p.(*mpiPeer).tree)
				}
				if name == "openmpi" {
					files, err := os.ReadDir(p.(*mpiPeer).tree.memory)
					require.NoError(t, err)
					require.NotEmpty(t, files, "its shared memory is not where it will be removed")
				}
				_, err := p.Measure(t.Context(), Point{Bytes: 4097})
				require.ErrorIs(t, err, ErrCannot)
			})
		}
	}
}

// requireStopped looks for itself whether a peer's processes are stopped.
func requireStopped(t *testing.T, tree *tree) {
	t.Helper()
	pids := marked(tree.mark)
	require.Greater(t, len(pids), 2, "the launcher and its ranks")
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(t, err)
		require.Contains(t, string(text), ") T ", "a process of the peer runs")
	}
}

// One damaged byte is one wrong byte, whichever way it came.
func TestWrongIsCounted(t *testing.T) {
	for _, c := range []struct{ peer, op string }{{"openmpi", "alltoall"}, {"mpich", "bw"}, {"shmwin", "allgather"}, {"openmpi", "allreduce"}} {
		t.Run(c.peer+"/"+c.op, func(t *testing.T) {
			fault = 1
			defer func() { fault = -1 }()
			p := opened(t, c.peer, bound(t, c.op, 2))
			point := short
			point.Bytes = 64
			s, err := p.Measure(t.Context(), point)
			require.NoError(t, err)
			require.Equal(t, 1, s.Wrong)
			requireSlice(t, p, 64) // it was damaged once
		})
	}
}

// Everybody measures as many operations as were asked for, rounded up to blocks.
func TestIters(t *testing.T) {
	const iters = 777
	for _, c := range []struct {
		peer, op string
		counts   int // of what a slice counts, in one of Point's
	}{{"openmpi", "latency", 2}, {"mpich", "bw", 64}, {"shmwin", "barrier", 1}, {"unix", "latency", 2}, {"pipe", "alltoall", 1}, {"ucx", "latency", 1}, {"ucx", "bw", 64}} {
		t.Run(c.peer+"/"+c.op, func(t *testing.T) {
			t.Parallel()
			j := bound(t, c.op, 2)
			j.Warmup = 10
			p := opened(t, c.peer, j)
			for range 2 { // the second knows how long one takes
				s, err := p.Measure(t.Context(), Point{Bytes: 8, Shortest: short.Shortest, Budget: watchdog, Iters: iters})
				require.NoError(t, err)
				all := s.Ops * len(s.Blocks)
				require.GreaterOrEqual(t, all, iters*c.counts)
				require.Less(t, all-iters*c.counts, s.Ops, "more than the last block was filled up")
			}
		})
	}
	t.Run("mpich/startup", func(t *testing.T) {
		s, err := opened(t, "mpich", Job{Op: "startup", Ranks: 2}).Measure(t.Context(), Point{Budget: watchdog, Iters: 2})
		require.NoError(t, err)
		require.Len(t, s.Blocks, 2)
	})
}

// Ranks that share CPUs yield while they wait, bound or not: the library itself,
// or our program between two looks into one that does not.
func TestCrowded(t *testing.T) {
	for _, c := range []struct {
		job  Job
		want bool
	}{
		{Job{Ranks: 2, CPUs: []int{4, 7}}, false},
		{Job{Ranks: 3, CPUs: []int{4, 7}}, true},
		{Job{Ranks: 2, CPUs: []int{4, 7}, Plan: [][]int{{4}, {7}}}, false},
		{Job{Ranks: 4, CPUs: []int{4, 7}, Plan: [][]int{{4}, {7}, {4}, {7}}}, true},
		{Job{Ranks: 2, CPUs: []int{1, 2, 3, 4}, Plan: [][]int{{3}, {3}}}, true},
		{Job{Ranks: 3, Plan: [][]int{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}}, false},
	} {
		require.Equal(t, c.want, c.job.crowded(), "%+v", c.job)
	}
	for _, name := range []string{"openmpi", "mpich"} {
		for _, op := range []string{"bw", "allreduce"} {
			t.Run(name+"/"+op, func(t *testing.T) {
				c := cpus(t)[0]
				p := opened(t, name, Job{Op: op, Ranks: 2, Plan: [][]int{{c}, {c}}, MaxBytes: 64})
				require.Contains(t, p.Command(), "yield=1")
				requireSlice(t, p, 64)
			})
		}
	}
}

// The counts of a skewed all-to-all are those of Job.Skew.
func TestSkew(t *testing.T) {
	const mean, ranks = 1003, 7
	p := opened(t, "openmpi", Job{Op: "barrier", Ranks: 1})
	argv := p.(*mpiPeer).argv
	program := argv[slices.Index(argv, "-n")+2]
	text, err := exec.Command(program, fmt.Sprint("skewed=", mean), fmt.Sprint("ranks=", ranks)).Output()
	require.NoError(t, err)
	var want []string
	for r := range ranks {
		for p := range ranks {
			want = append(want, fmt.Sprint(mean*(1+(r+p)%4)*2/5))
		}
	}
	require.Equal(t, want, strings.Fields(string(text)))
}

func TestCannot(t *testing.T) {
	for _, c := range []struct {
		peer string
		job  Job
	}{
		{"openmpi", Job{Op: "latency", Ranks: 3}},
		{"openmpi", Job{Op: "dispatch", Ranks: 2}},
		{"openmpi", Job{Op: "alltoall", Ranks: 2, MaxBytes: 1 << 50}},
		{"shmwin", Job{Op: "gather", Ranks: 2}},
		{"shmwin", Job{Op: "alltoall", Ranks: 2, InPlace: true}},
	} {
		_, err := Open(t.Context(), c.peer, c.job)
		require.ErrorIs(t, err, ErrCannot, "%v", c)
	}
}

func TestBadJob(t *testing.T) {
	for _, j := range []Job{{Op: "barrier"}, {Op: "barrier", Ranks: 2, Plan: [][]int{{0}}}, {Op: "barrier", Ranks: 2, Touch: "some"}} {
		_, err := Open(t.Context(), "openmpi", j)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrCannot)
	}
	_, err := Open(t.Context(), "mvapich", Job{Op: "barrier", Ranks: 2})
	require.ErrorContains(t, err, "mvapich")
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for name, text := range map[string]string{
		"openmpi": "openmpi is not installed: apt-get install openmpi-bin libopenmpi-dev",
		"mpich":   "mpich is not installed: apt-get install mpich libmpich-dev",
		"shmwin":  "shmwin is not installed: apt-get install openmpi-bin libopenmpi-dev",
	} {
		_, err := Open(t.Context(), name, Job{Op: "barrier", Ranks: 2})
		require.ErrorAs(t, err, new(*MissingError))
		require.EqualError(t, err, text)
	}
}

func TestStartup(t *testing.T) {
	for _, name := range []string{"openmpi", "mpich"} {
		t.Run(name, func(t *testing.T) {
			p := opened(t, name, Job{Op: "startup", Ranks: 2})
			s, err := p.Measure(t.Context(), Point{})
			require.NoError(t, err)
			require.Len(t, s.Blocks, 1)
			require.Equal(t, 1, s.Ops)
			require.True(t, strings.HasSuffix(p.Command(), " -n 2 true"), p.Command())
		})
	}
}

// A launcher that dies of a broken pipe now and then is measured without those starts;
// one that mostly does has failed.
func TestStartupThatBreaksAPipe(t *testing.T) {
	for deaths, fails := range map[int]bool{brokenPipes: false, brokenPipes + 1: true} {
		all, err := newTree()
		require.NoError(t, err)
		script := fmt.Sprintf(`echo >> "$0"; [ $(wc -l < "$0") -gt %d ] || kill -PIPE $$`, deaths)
		p := &startups{name: "mpich", mpi: &mpi{environment: func(*tree) []string { return environ() }}, job: Job{Timeout: watchdog}, tree: all,
			argv: []string{"sh", "-c", script, filepath.Join(t.TempDir(), "starts")}}
		s, err := p.Measure(t.Context(), Point{Iters: 2})
		if fails {
			require.ErrorContains(t, err, "broken pipe")
		} else {
			require.NoError(t, err)
			require.Len(t, s.Blocks, 2)
		}
		require.NoError(t, p.Close())
	}
}

// Cancelling ends a measurement, and the peer with it.
func TestCancel(t *testing.T) {
	p := opened(t, "mpich", bound(t, "barrier", 2))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Measure(ctx, Point{Shortest: time.Millisecond, Budget: watchdog})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, marked(p.(*mpiPeer).tree.mark))
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "again")
}
