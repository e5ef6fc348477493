package symmem

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the host's CLOCK_MONOTONIC: the same for all processes, never set
// back, no wall clock.
func monotonic() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
