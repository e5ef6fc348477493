package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/failpoint"
)

func TestMain(m *testing.M) {
	play()
	os.Exit(m.Run())
}

// TestSlice is a slice of the campaign. With failpoints (make test runs it so) it
// has a hundred faults and more, without them a few.
func TestSlice(t *testing.T) {
	rounds, least := "20", 10
	if failpoint.Enabled {
		rounds, least = "130", 100
	}
	cmd := exec.Command(os.Args[0], "-rounds", rounds, "-seed", "1")
	cmd.Env = append(os.Environ(), roleVar+"=private")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Regexp(t, `hangs 0, leaks 0, wrong bytes 0, failed rounds 0\n`, string(out))
	faults := 0
	for _, what := range []string{"kills", "stops", "launchers"} {
		n := regexp.MustCompile(`(\d+) ` + what).FindSubmatch(out)
		require.NotNil(t, n, what)
		k, _ := strconv.Atoi(string(n[1]))
		faults += k
	}
	require.GreaterOrEqual(t, faults, least, "faults")
}

// TestInterrupted: whoever ends the campaign by hand finds nothing of it left.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-rounds", "100000", "-seed", "1", "-v")
	cmd.Env = append(os.Environ(), roleVar+"=private", env.KeyShmDir+"="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	for { // one round has been
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		if strings.HasPrefix(line, "round 0") {
			break
		}
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Contains(t, string(rest), "soak: ended by: terminated\n")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestPlansAreDrawnFromTheirSeed: a round can be repeated, and over many rounds
// every kind, end and failpoint comes up.
func TestPlansAreDrawnFromTheirSeed(t *testing.T) {
	kinds, ends, points := map[fault]int{}, map[string]int{}, map[string]int{}
	for r := range 4000 {
		p := newPlan(7, r, true)
		require.Equal(t, p, newPlan(7, r, true))
		require.NotEmpty(t, p.Victims)
		require.Less(t, len(p.Victims), p.Ranks, "somebody survives")
		for _, v := range p.Victims {
			require.Less(t, v, p.Ranks)
		}
		kinds[p.Fault]++
		ends[p.How]++
		points[p.Point]++
	}
	for _, s := range shares {
		if s.fault != pointed || failpoint.Enabled {
			require.NotZero(t, kinds[s.fault], s.fault)
		}
	}
	for _, how := range []string{"kill", "panic", "exit", "return"} {
		require.NotZero(t, ends[how], how)
	}
	if failpoint.Enabled {
		for _, how := range []string{"stop", "garbage"} {
			require.NotZero(t, ends[how], how)
		}
		for _, name := range failpoint.Names {
			require.NotZero(t, points[name], name)
		}
	}
}
