package launch

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The guardian begins before what only the launcher needs is initialised: it is
// started with every job.
func TestGuardianBeginsEarly(t *testing.T) {
	var trace bytes.Buffer
	c := exec.Command("/proc/self/exe", "no-job")
	c.Args[0] = "symwin-guardian"
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	c.Stdin, c.Stderr = strings.NewReader("\x00\x00\x00\x00"), &trace
	require.NoError(t, c.Run())
	require.Contains(t, trace.String(), "init github.com/symwin/symwin/internal/shm @")
	require.NotContains(t, trace.String(), "init github.com/symwin/symwin/symmem @")
}
