//go:build !linux

package futex

import (
	"errors"
	"runtime"
	"time"
)

// Wait on other systems than Linux only sleeps: the caller's loop looks again.
func Wait(word *uint32, value uint32, timeout time.Duration) {
	time.Sleep(min(max(timeout, time.Microsecond), time.Millisecond))
}

// Wake has nobody to wake where Wait never sleeps for long.
func Wake(word *uint32, n int) int { return 0 }

// Yield gives way within the process only.
func Yield() { runtime.Gosched() }

// Robust is never armed here.
type Robust struct{}

// Arm reports that there are no robust futexes.
func Arm(word *uint32) (*Robust, error) { return nil, errors.ErrUnsupported }

// Disarm does nothing.
func (r *Robust) Disarm() {}

// Tid is unknown here.
func Tid() int { return 0 }
