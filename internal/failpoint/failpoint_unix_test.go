//go:build symwinfail && unix

package failpoint

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/internal/env"
)

func TestMain(m *testing.M) {
	if env.Get(env.KeyFailpoint) != "" { // a process that is to fail
		for range 3 {
			Hit(LaneRecord)
			Hit(ParkSet)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestProcessesFailAsTheyAreTold(t *testing.T) {
	for fault, want := range map[string]func(syscall.WaitStatus) bool{
		"lane.record:kill":                   func(s syscall.WaitStatus) bool { return s.Signal() == syscall.SIGKILL },
		"lane.record:kill:4":                 func(s syscall.WaitStatus) bool { return s.ExitStatus() == 0 },
		"park.set:exit:3":                    func(s syscall.WaitStatus) bool { return s.ExitStatus() == 3 },
		"park.set:panic":                     func(s syscall.WaitStatus) bool { return s.ExitStatus() == 2 },
		"lane.record:sleep:2,park.set:exit":  func(s syscall.WaitStatus) bool { return s.ExitStatus() == 3 },
		"lane.record:garbage,park.set:sleep": func(s syscall.WaitStatus) bool { return s.ExitStatus() == 0 },
		"close.left:kill":                    func(s syscall.WaitStatus) bool { return s.ExitStatus() == 0 },
	} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), env.KeyFailpoint+"="+fault)
		_ = cmd.Run()
		require.True(t, want(cmd.ProcessState.Sys().(syscall.WaitStatus)), "%s: %v", fault, cmd.ProcessState)
	}
}

func TestStopUntilContinued(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), env.KeyFailpoint+"=lane.record:stop:2")
	require.NoError(t, cmd.Start())
	var status syscall.WaitStatus
	_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.NoError(t, cmd.Wait())
}

func TestGarbageAndBefore(t *testing.T) {
	defer Arm("")
	var told []string
	Before(func(name, action string) { told = append(told, name+" "+action) })
	OnGarbage(func() { told = append(told, "garbage") })
	Arm("send.half:garbage:2")
	for range 5 {
		Hit(SendHalf)
		Hit(SendDone)
	}
	require.Equal(t, []string{"send.half garbage", "garbage"}, told)
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	defer Arm("")
	for _, bad := range []string{"lane.record", "lane.record:die", "nowhere:kill", "lane.record:kill:0", "lane.record:kill:x", "lane.record:kill:1:2"} {
		require.Panics(t, func() { Arm(bad) }, bad)
	}
}
