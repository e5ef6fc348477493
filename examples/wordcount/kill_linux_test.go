package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/ranktest"
	"golang.org/x/sys/unix"
)

// processes are those that run a program, and which of them is which rank by
// their environment.
func processes(program string) (pids []int, rank map[int]int) {
	rank = map[int]int{}
	exes, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range exes {
		if to, err := os.Readlink(exe); err != nil || to != program {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(exe)))
		pids = append(pids, pid)
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "environ"))
		for v := range bytes.SplitSeq(environ, []byte{0}) {
			if r, ok := bytes.CutPrefix(v, []byte("SYMWIN_RANK=")); ok {
				n, _ := strconv.Atoi(string(r))
				rank[n] = pid
			}
		}
	}
	return pids, rank
}

// reads tells whether a process has a file open.
func reads(pid int, path string) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == path {
			return true
		}
	}
	return false
}

// A rank is killed while all of them count, which they would do for hours: the
// file is one great hole.
func TestARankIsKilledInTheMiddleOfACount(t *testing.T) {
	shmrun, wordcount := programs(t)
	dir := t.TempDir()
	hole := filepath.Join(dir, "hole")
	require.NoError(t, os.WriteFile(hole, nil, 0o600))
	if err := os.Truncate(hole, 1<<40); err != nil {
		t.Skip("no large files here: ", err)
	}
	for _, victim := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(victim), func(t *testing.T) {
			names, err := ranktest.ShmDir("wordcount-test-") // of the regions
			require.NoError(t, err)
			defer os.RemoveAll(names)
			c := exec.CommandContext(t.Context(), shmrun, "-n", "3", wordcount, dir)
			var stdout, stderr bytes.Buffer
			c.Stdout, c.Stderr = &stdout, &stderr
			c.Env = append(os.Environ(), "SYMWIN_SHM_DIR="+names)
			require.NoError(t, c.Start())
			// A hang is ended by SIGTERM, so that nothing is left by the test either.
			watch := time.AfterFunc(ranktest.Watchdog, func() { _ = c.Process.Signal(unix.SIGTERM) })
			defer watch.Stop()

			require.True(t, ranktest.Within(func() bool {
				_, rank := processes(wordcount)
				for r := range 3 {
					if pid, ok := rank[r]; !ok || !reads(pid, hole) {
						return false
					}
				}
				return unix.Kill(rank[victim], unix.SIGKILL) == nil
			}))

			err = c.Wait()
			var exit *exec.ExitError
			require.True(t, errors.As(err, &exit), "%v", err)
			require.Equal(t, 128+int(unix.SIGKILL), exit.ExitCode())
			require.Empty(t, stdout.String())
			require.Equal(t, 1, strings.Count(stderr.String(), fmt.Sprintf("shmrun: rank %d was killed by SIGKILL; rank", victim)), stderr.String())
			for line := range strings.Lines(stderr.String()) { // rank 0 may have been about to give an order
				require.True(t, strings.HasPrefix(line, "shmrun: ") || strings.Contains(line, fmt.Sprintf("rank %d failed", victim)), line)
			}

			left, err := os.ReadDir(names)
			require.NoError(t, err)
			require.Empty(t, left)
			ranks, _ := processes(wordcount)
			require.Empty(t, ranks)
			require.True(t, ranktest.Within(func() bool { // its guardian sees shmrun's end
				launchers, _ := processes(shmrun)
				return len(launchers) == 0
			}))
		})
	}
}
