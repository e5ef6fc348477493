package launch

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// end is how a rank's process ended.
type end struct {
	code   int            // exit code; meaningless with a signal
	signal syscall.Signal // what killed it, or 0
	core   bool           // and left a core dump

	unknown error // why nothing is known about it
}

func (e end) bad() bool { return e.code != 0 || e.signal != 0 }

// exitCode is what a shell would report.
func (e end) exitCode() int {
	if e.signal != 0 {
		return exitSignal + int(e.signal)
	}
	return e.code
}

// by reports whether a forwarded signal explains the end: killed by it, or a
// program that tells so in the manner of a shell.
func (e end) by(s syscall.Signal) bool {
	return s != 0 && (e.signal == s || e.signal == 0 && e.code == exitSignal+int(s))
}

func (e end) String() string {
	switch {
	case e.unknown != nil:
		return fmt.Sprintf("ended, nobody knows how (%v)", e.unknown)
	case e.core:
		return "was killed by " + signalName(e.signal) + " (core dumped)"
	case e.signal != 0:
		return "was killed by " + signalName(e.signal)
	}
	return fmt.Sprintf("exited with code %d", e.code)
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s)) // a real-time signal
}
