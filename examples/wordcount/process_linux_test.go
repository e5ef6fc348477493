package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/examples/internal/programtest"
	"github.com/symwin/symwin/internal/ranktest"
)

// A file with a lease on it cannot be opened without waiting, not by root either.
// It is split between the ranks: rank 0 tells of it once, and what else there is
// is counted.
func TestAFileThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a": "one two", "b": strings.Repeat("never counted ", 100_000), "c": "two"})
	bad := filepath.Join(dir, "b")
	f, err := os.OpenFile(bad, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skip("no leases here: ", err)
	}
	for _, n := range []int{1, 3} {
		for _, skip := range []bool{false, true} {
			stdout, stderr, codes := inProcess(t, n, "--json", fmt.Sprintf("--skip-errors=%t", skip), dir)
			require.Equal(t, "wordcount: "+bad+": resource temporarily unavailable\n", stderr)
			want := make([]int, n)
			if !skip {
				want[0] = 1
			}
			require.Equal(t, want, codes)
			checkAnswer(t, map[string]uint64{"one": 1, "two": 2}, stdout)

			stdout, _, _ = inProcess(t, n, "--verify", dir)
			require.Contains(t, stdout, "3 words, 2 different, in 2 files under "+dir+" (0.0 MB); 1 file not read\n")
			require.Contains(t, stdout, " 0 MB/s, ", "the speed is that of what was read")
		}
	}
}

// The files of /proc say that their size is 0. None is passed over, none is read
// for as long as pagemap would take.
func TestFilesWithContentAndNoSize(t *testing.T) {
	for _, n := range []int{1, 3} {
		stdout, stderr, codes := inProcess(t, n, "/proc/self/net")
		require.Equal(t, append([]int{1}, make([]int, n-1)...), codes)
		require.Contains(t, stderr, "wordcount: /proc/self/net/dev: it has content, but says that its size is 0\n")
		require.Contains(t, stdout, "0 words, 0 different, in ")
		require.Contains(t, stdout, " files not read\n")
	}
	pagemap := newReader().count(t.Context(), Part{Path: "/proc/self/pagemap"})
	require.ErrorIs(t, pagemap, errNoSize)
}

// programs builds shmrun and wordcount where everybody may run them.
func programs(t *testing.T) (shmrun, wordcount string) {
	return programtest.Build(t, openToAll(t), "wordcount")
}

func openToAll(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// execute runs a command and ends it if it hangs.
func execute(t *testing.T, as *syscall.Credential, command ...string) (stdout, stderr string, code int) {
	ctx, cancel := context.WithTimeout(t.Context(), ranktest.Watchdog)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr, c.Dir = &out, &errs, "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	err := c.Run()
	require.NoError(t, ctx.Err(), "%v: %s", command, errs.String())
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err, "%v", command)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

func TestProcesses(t *testing.T) {
	shmrun, wordcount := programs(t)
	dir, want := forest(t)

	t.Run("alone", func(t *testing.T) {
		stdout, stderr, code := execute(t, nil, wordcount, "--json", "--verify", dir)
		require.Zero(t, code, stderr)
		checkAnswer(t, want, stdout)
	})
	for _, n := range []string{"1", "2", "3", "8"} {
		t.Run(n, func(t *testing.T) {
			stdout, stderr, code := execute(t, nil, shmrun, "-n", n, wordcount, "--json", "--verify", dir)
			require.Zero(t, code, stderr)
			require.Empty(t, stderr)
			checkAnswer(t, want, stdout)
		})
	}
	t.Run("a small window", func(t *testing.T) {
		stdout, stderr, code := execute(t, nil, shmrun, "-n", "3", "--window", "8M", wordcount, "--json", "--verify", dir)
		require.Zero(t, code, stderr)
		checkAnswer(t, want, stdout)
	})
	t.Run("no directory", func(t *testing.T) {
		nowhere := filepath.Join(dir, "nowhere")
		stdout, stderr, code := execute(t, nil, shmrun, "-n", "3", wordcount, nowhere)
		require.Empty(t, stdout)
		require.Equal(t, 1, strings.Count(stderr, nowhere), stderr)
		require.Equal(t, 2, code)
	})
	t.Run("unreadable", func(t *testing.T) {
		dir := openToAll(t)
		plant(t, dir, map[string]string{"a": "one two", "secret": "three", "hidden": "", "closed/b": "four"})
		closed, hidden, secret := filepath.Join(dir, "closed"), filepath.Join(dir, "hidden"), filepath.Join(dir, "secret")
		require.NoError(t, os.Chmod(hidden, 0))
		require.NoError(t, os.Chmod(secret, 0))
		require.NoError(t, os.Chmod(closed, 0))
		t.Cleanup(func() { require.NoError(t, os.Chmod(closed, 0o755)) })
		var nobody *syscall.Credential
		if os.Geteuid() == 0 { // whom nothing is closed to
			nobody = &syscall.Credential{Uid: 65534, Gid: 65534}
		}
		for _, flags := range [][]string{nil, {"--skip-errors"}} {
			stdout, stderr, code := execute(t, nobody, append([]string{shmrun, "-n", "2", wordcount, "--json", dir}, flags...)...)
			require.Equal(t, 1-len(flags), code)
			require.Contains(t, stderr, "wordcount: "+closed+": permission denied\nwordcount: "+hidden+": permission denied\nwordcount: "+secret+": permission denied\n")
			checkAnswer(t, map[string]uint64{"one": 1, "two": 1}, stdout)
		}
		stdout, _, _ := execute(t, nobody, shmrun, "-n", "2", wordcount, dir)
		require.Contains(t, stdout, "\n2 words, 2 different, in 1 file under "+dir+" (0.0 MB); 2 files and 1 directory not read\n")
	})
}
