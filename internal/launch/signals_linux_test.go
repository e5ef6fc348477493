package launch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/env"
	"golang.org/x/sys/unix"
)

// Killed at once, whatever the ranks are doing, the launcher leaves nothing: no
// rank, nothing that a rank started, no name.
func TestLauncherKilled(t *testing.T) {
	t.Run("ranks that ignore signals, with children", func(t *testing.T) {
		c := startLauncher(t, "3", "stubborn")
		c.expect(t, 3)
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		nothingLeft(t)
	})
	t.Run("symwin ranks", func(t *testing.T) {
		c := startLauncher(t, "3", "member", "pause")
		c.expect(t, 3)
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		nothingLeft(t)
	})
	t.Run("while joining", func(t *testing.T) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		for range 8 {
			c := startLauncher(t, "4", "member", "pause")
			time.Sleep(time.Duration(random.IntN(40_000)) * time.Microsecond)
			require.NoError(t, c.Process.Kill())
			_ = c.Wait()
			nothingLeft(t)
		}
	})
}

func TestForwarding(t *testing.T) {
	c := startLauncher(t, "2", "signals")
	c.expect(t, 2)
	for sig, name := range map[syscall.Signal]string{
		syscall.SIGUSR1: "user defined signal 1", syscall.SIGUSR2: "user defined signal 2",
		syscall.SIGHUP: "hangup", syscall.SIGINT: "interrupt", syscall.SIGQUIT: "quit",
	} {
		if signal.Ignored(sig) { // as under nohup: what is switched off stays off
			continue
		}
		require.NoError(t, c.Process.Signal(syscall.SIGURG))
		require.NoError(t, c.Process.Signal(syscall.SIGWINCH))
		require.NoError(t, c.Process.Signal(sig))
		require.Equal(t, []string{name, name}, c.expect(t, 2))
	}
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Equal(t, []string{"terminated", "terminated"}, c.expect(t, 2))
	require.Equal(t, 7, c.end(t), "the ranks' own code")
	nothingLeft(t)
}

func TestInterrupted(t *testing.T) {
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		if signal.Ignored(sig) {
			continue
		}
		c := startLauncher(t, "3", "--", "sh", "-c", "echo ready; sleep 1000 & sleep 1000")
		c.expect(t, 3)
		require.NoError(t, c.Process.Signal(sig))
		require.Equal(t, code, c.end(t))
		nothingLeft(t)
	}
}

// The second of a kind kills, whatever came between; two at one blow are one.
func TestSecondSignal(t *testing.T) {
	for _, c := range []struct {
		first, between, second syscall.Signal
		code                   int
	}{
		{syscall.SIGINT, 0, syscall.SIGINT, 130},
		{syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT, 130},
		{syscall.SIGTERM, syscall.SIGINT, syscall.SIGTERM, 143},
	} {
		var l *child
		for told, tries := false, 0; !told; tries++ {
			require.Less(t, tries, 10, "two at one blow are two")
			l = startLauncher(t, "3", "stubborn")
			l.expect(t, 3)
			told = true
			for _, sig := range []syscall.Signal{c.first, c.between} {
				if sig != 0 && told {
					require.NoError(t, l.Process.Signal(sig))
					require.NoError(t, l.Process.Signal(sig)) // as timeout(1) does
					_, err := l.lines(3)
					told = err == nil
				}
			}
			if !told { // on a busy machine two may come one by one
				l.end(t)
			}
		}
		time.Sleep(2 * oneBlow)
		require.NoError(t, l.Process.Signal(c.second))
		require.Equal(t, c.code, l.end(t), "%v %v %v", c.first, c.between, c.second)
		nothingLeft(t)
	}
}

// state is a process's letter in /proc: R, S, T …
func state(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

func TestStopAndContinue(t *testing.T) {
	// exec, because a shell that is stopped between vfork and exec is in state D.
	c := startLauncher(t, "2", "--", "sh", "-c", "echo $$; exec sleep 1000")
	pids := []int{c.Process.Pid}
	for _, line := range c.expect(t, 2) {
		pid, err := strconv.Atoi(line)
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	all := func(letters string) func() bool {
		return func() bool {
			for _, pid := range pids {
				if !strings.Contains(letters, state(pid)) {
					return false
				}
			}
			return true
		}
	}
	states := func() any {
		var s []string
		for _, pid := range pids {
			s = append(s, state(pid))
		}
		return s
	}
	for range 2 {
		require.NoError(t, c.Process.Signal(syscall.SIGTSTP))
		eventually(t, all("T"), states)
		require.NoError(t, c.Process.Signal(syscall.SIGCONT))
		eventually(t, all("RS"), states)
	}
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, c.end(t))
	nothingLeft(t)
}

// What is stopped does not run out, and goes on with what was left.
func TestStopwatch(t *testing.T) {
	var w stopwatch
	require.Nil(t, w.C())
	w.set(time.Hour)
	require.NotNil(t, w.C())
	w.stop()
	require.Nil(t, w.C())
	w.stop()
	w.resume()
	w.resume()
	require.Greater(t, w.left, 59*time.Minute)
	require.NotNil(t, w.C())
	w.set(time.Nanosecond)
	<-w.C()
	w.set(0)
	require.Nil(t, w.C())
	w.resume()
	require.Nil(t, w.C())
}

// What the launcher's parent had switched off stays off.
func TestIgnoredStaysIgnored(t *testing.T) {
	c := exec.Command("sh", "-c", `trap '' HUP; exec "$@"`, "sh", "/proc/self/exe", "1", "--", "grep", "SigIgn", "/proc/self/status")
	self, err := os.Executable()
	require.NoError(t, err)
	c.Args[4] = self
	c.Env = append(os.Environ(), roleVar+"=launcher")
	out, err := c.Output()
	require.NoError(t, err)
	mask, err := strconv.ParseUint(strings.Fields(string(out))[1], 16, 64)
	require.NoError(t, err)
	// glibc's posix_spawn, by which make starts its commands, leaves the signals
	// from 32 on that it keeps for itself ignored; they are nobody's choice.
	const named = 1<<31 - 1
	require.Equal(t, uint64(1)<<(syscall.SIGHUP-1), mask&named, "SIGHUP and nothing else")
}

// shell plays a shell with job control: it owns a terminal, its standard input,
// and starts a launcher in the background, which must not be stopped for its
// input, because no rank asks for any.
func shell([]string) int {
	signal.Ignore(syscall.SIGTTOU)
	c := exec.Command("/proc/self/exe", "2", "--", "true")
	c.Env = append(os.Environ(), roleVar+"=launcher")
	c.Stdin, c.Stderr = os.Stdin, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return 99
	}
	var status syscall.WaitStatus
	_, _ = syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil)
	if status.Stopped() {
		c.Process.Kill()
		return 98
	}
	return status.ExitStatus()
}

func TestBackgroundOfATerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	defer master.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer terminal.Close()

	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), roleVar+"=shell")
	c.Stdin, c.Stderr = terminal, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, c.Start())
	timer := time.AfterFunc(watchdog, func() { c.Process.Kill() })
	defer timer.Stop()
	_ = c.Wait()
	require.Equal(t, 0, c.ProcessState.ExitCode())
	nothingLeft(t)
}

// Two jobs have two names, and neither is left standing once its ranks are in.
func TestNamesAreGoneAfterJoining(t *testing.T) {
	a := startLauncher(t, "2", "member", "pause")
	b := startLauncher(t, "2", "member", "pause")
	a.expect(t, 2)
	b.expect(t, 2)
	require.Empty(t, names(), os.Getenv(env.KeyShmDir))
	for _, c := range []*child{a, b} {
		require.NoError(t, c.Process.Signal(syscall.SIGTERM))
		require.Equal(t, 143, c.end(t))
	}
	nothingLeft(t)
}
