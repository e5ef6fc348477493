//go:build !linux

package symmem

import (
	"errors"
	"time"
)

var epoch0 = time.Now()

func monotonic() time.Duration { return time.Since(epoch0) }

func startTime(int) uint64 { return 0 }

func usableCPUs() (set [16]uint64) { return set }

func pidfdOpen(int) (int, error) { return -1, errors.ErrUnsupported }

func noSuchProcess(error) bool { return false }

func pidfdEnded(int, time.Duration) bool { return false }

func closeFd(int) {}

func processState(int) string { return "" }

func tracer(pid int) int { return 0 }
