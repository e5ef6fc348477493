//go:build linux

package launch

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What x/sys leaves out: how si_code and si_status tell an end, the same on all
// 64-bit machines (the union begins at byte 16: pid, uid, status).
const (
	cldKilled = 2
	cldDumped = 3

	siStatus = 24
)

// peek reads how the process behind pidfd ended and leaves it a zombie. As long
// as it is one, its number can be nobody else's, so its process group may be
// signalled without a doubt whom that hits.
func peek(pidfd int) (end, error) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PIDFD, pidfd, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return end{}, fmt.Errorf("waitid: %w", err)
		}
	}
	status := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), siStatus)))
	switch info.Code {
	case cldKilled, cldDumped:
		return end{signal: syscall.Signal(status), core: info.Code == cldDumped}, nil
	}
	return end{code: status}, nil
}
