package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// roles are what the test binary is when it is started with a role.
var roles = map[string]func(args []string) int{
	// harness opens a peer and waits to be killed, in the middle of a measurement or
	// while the peer is stopped.
	"harness": func(args []string) int {
		p, err := Open(context.Background(), args[0], Job{Op: "barrier", Ranks: 2, Timeout: watchdog})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("open")
		if args[1] == "measuring" {
			_, err = p.Measure(context.Background(), Point{Shortest: time.Millisecond, Budget: watchdog})
			fmt.Println(err)
		}
		select {}
	},
}

// A harness that is killed takes its peers along, whether they run or are stopped.
func TestHarnessKilled(t *testing.T) {
	for _, peer := range []string{"openmpi", "mpich"} {
		for _, state := range []string{"stopped", "measuring"} {
			t.Run(peer+"/"+state, func(t *testing.T) {
				t.Parallel()
				opened(t, peer, Job{Op: "startup", Ranks: 1}) // or skip
				temp := t.TempDir()
				cmd := exec.Command("/proc/self/exe", peer, state)
				cmd.Env = append(os.Environ(), "PEERS_TEST_ROLE=harness", "TMPDIR="+temp)
				out, err := cmd.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				said := make([]byte, 100)
				n, _ := out.Read(said)
				require.Equal(t, "open\n", string(said[:n]))
				mark := fmt.Sprint(cmd.Process.Pid, "-")
				require.NotEmpty(t, markedBy(mark))
				if state == "measuring" {
					time.Sleep(50 * time.Millisecond)
				}
				require.NoError(t, cmd.Process.Kill())
				_ = cmd.Wait()
				require.Eventually(t, func() bool {
					left, _ := filepath.Glob(filepath.Join(temp, "*"))
					shared, _ := filepath.Glob("/dev/shm/" + dirPrefix + mark + "*")
					return len(markedBy(mark)) == 0 && len(left) == 0 && len(shared) == 0
				}, watchdog, time.Millisecond, "processes or files are left")
			})
		}
	}
}

// fakes puts shell scripts where the launcher and the compiler would be found.
func fakes(t *testing.T, mpirun string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{
		"mpirun.openmpi": "case $1 in --version) echo 'mpirun.openmpi (OpenRTE) 9.8.7'; exit;; esac\n" + mpirun,
		"mpicc.openmpi":  "case $1 in --version) echo 'cc 1'; exit;; esac\nfor a; do case $p in -o) : >\"$a\"; chmod +x \"$a\";; esac; p=$a; done",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

func TestFailed(t *testing.T) {
	for _, c := range []struct{ name, script, open, measure string }{
		{"crash at start", `echo 'ERROR: no such device' >&2; exit 3`, "exit status 3: ERROR: no such device", ""},
		{"killed at start", `kill -9 $$`, "signal: killed", ""},
		{"hang at start", `sleep 1000 & exec sleep 1000`, "hung", ""},
		{"garbage at start", `echo lalala`, "lalala", ""},
		{"not bound", `echo failed a rank is not bound; cat`, "a rank is not bound", ""},
		{"crash", `echo ready; read line; echo 'Segmentation fault' >&2; exit 139`, "", "Segmentation fault"},
		{"hang", `echo ready; (sleep 1000 & setsid sleep 1000) & exec cat >/dev/null`, "", "hung"},
		{"garbage", `echo ready; read line; echo slice of cake; exec cat`, "", "slice of cake"},
		{"too few blocks", `echo ready; read line; echo slice 1 0 3 7 7; exec cat`, "", "slice 1 0 3 7 7"},
		// A rank that dies is told at once, whatever its launcher makes of it.
		{"a dead rank", `sleep 1000 & echo ready; read line; kill -9 $!; exec sleep 1000`, "", "one of its processes ended"},
		{"a message before", `echo ready; read line; echo WARN look; echo slice 1 0 1 7; read line; exit 1`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fakes(t, c.script)
			if c.name == "a dead rank" { // whose launcher has no last words
				defer func(d time.Duration) { lastWords = d }(lastWords)
				lastWords = time.Millisecond
			}
			j := Job{Op: "barrier", Ranks: 2, Timeout: watchdog}
			if c.open == "hung" {
				j.Timeout = 200 * time.Millisecond
			}
			p, err := Open(t.Context(), "openmpi", j)
			var failure *FailedError
			if c.open != "" {
				require.ErrorAs(t, err, &failure)
				require.Equal(t, "openmpi", failure.Peer)
				require.Contains(t, failure.What, c.open)
			} else {
				require.NoError(t, err)
				defer p.Close()
				require.Equal(t, "Open MPI 9.8.7", p.Version())
				if c.measure == "hung" {
					p.(*mpiPeer).job.Timeout = 200 * time.Millisecond
				}
				_, err := p.Measure(t.Context(), short)
				if c.measure == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorAs(t, err, &failure)
				require.Contains(t, failure.What, c.measure)
				require.NotContains(t, failure.What, "\n")
				_, again := p.Measure(t.Context(), short)
				require.Equal(t, err, again, "a peer that failed stays so")
			}
			require.Empty(t, ours(), "processes are left")
			require.Empty(t, leftFiles(), "files are left")
		})
	}
}

// The program is compiled once, and without a cache directory every time, and then
// removed.
func TestCache(t *testing.T) {
	fakes(t, `echo ready; cat`)
	open := func() Peer {
		p, err := Open(t.Context(), "openmpi", Job{Op: "barrier", Ranks: 1})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		return p
	}
	a, b := open(), open()
	require.Equal(t, a.Command(), b.Command())
	names, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "symwin/peers/*"))
	require.NoError(t, err)
	require.Len(t, names, 1)
	require.Contains(t, a.Command(), names[0])

	t.Setenv("XDG_CACHE_HOME", "/proc/nowhere")
	require.Contains(t, open().Command(), filepath.Join(os.TempDir(), dirPrefix))
}

// What the compiler has to say is told.
func TestNotCompiled(t *testing.T) {
	fakes(t, `echo ready; cat`)
	script := "#!/bin/sh\ncase $1 in --version) echo cc 1; exit;; esac\necho 'main.c:1: error: no such thing' >&2\nexit 1\n"
	dir, _, _ := strings.Cut(os.Getenv("PATH"), ":")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mpicc.openmpi"), []byte(script), 0o755))
	_, err := Open(t.Context(), "openmpi", Job{Op: "barrier", Ranks: 1})
	require.ErrorAs(t, err, new(*FailedError))
	require.ErrorContains(t, err, "error: no such thing")
}

// Starts that do not count are counted.
func TestDroppedStartsAreTold(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	fakes(t, "echo start >>"+starts+"; if [ $(wc -l <"+starts+") -le 2 ]; then kill -PIPE $$; fi")
	p, err := Open(t.Context(), "openmpi", Job{Op: "startup", Ranks: 1, Timeout: watchdog})
	require.NoError(t, err)
	defer p.Close()
	for _, dropped := range []int{2, 0} {
		s, err := p.Measure(t.Context(), Point{Iters: 3})
		require.NoError(t, err)
		require.Len(t, s.Blocks, 3)
		require.Equal(t, dropped, s.Dropped)
	}
}

// A slice that takes others long, too, is no reason to give a peer up; and who is
// given up is told how long was waited.
func TestTimeoutsAreBesideWhatIsExpected(t *testing.T) {
	fakes(t, `echo ready; read line; sleep 0.5; echo slice 1 0 1 7; read line; exec sleep 1000`)
	p, err := Open(t.Context(), "openmpi", Job{Op: "barrier", Ranks: 1, Timeout: watchdog})
	require.NoError(t, err)
	defer p.Close()
	p.(*mpiPeer).job.Timeout = 100 * time.Millisecond
	point := short
	point.Expected = watchdog
	_, err = p.Measure(t.Context(), point)
	require.NoError(t, err)
	point.Expected = 10 * time.Millisecond
	_, err = p.Measure(t.Context(), point)
	require.ErrorContains(t, err, "no answer within 200ms")
}
