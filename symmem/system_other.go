//go:build !linux

package symmem

import (
	"errors"
	"time"
)

var epoch0 = time.Now()

func monotonic() time.Duration { return time.Since(epoch0) }

func startTime(int) uint64 { return 0 }

func ancestor(string) (pid int, started uint64) { return 0, 0 }

func usableCPUs() (set [16]uint64) { return set }

func pidfdOpen(int) (int, error) { return -1, errors.ErrUnsupported }

func noSuchProcess(error) bool { return false }

func processOver(int) bool { return false }

func pidSpace() uint64 { return 0 }

func pidfdEnded(int, time.Duration) bool { return false }

func interrupt(int) {}

func closeFd(int) {}

func processState(int) string { return "" }

func tracer(pid int) int { return 0 }
