package peers

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// watch has lost closed when the first of the members ends. Those who wait for a
// rank that was killed wait on, and its launcher may take a minute to notice. It
// costs nothing until then: the kernel tells. A kernel without pidfds does not, and
// the timeout of the measurement is left.
func (t *tree) watch() {
	var fds []unix.PollFd
	for _, m := range t.members {
		fd, err := unix.PidfdOpen(m.pid, 0)
		if err == nil {
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	if len(fds) == 0 {
		return
	}
	go func() { // ends at the latest when the tree is felled
		for {
			if _, err := unix.Poll(fds, -1); err != unix.EINTR {
				break
			}
		}
		for _, fd := range fds {
			unix.Close(int(fd.Fd))
		}
		close(t.lost)
	}()
}

// lastWords is how long a launcher gets to say what became of its rank. Tests give
// it longer.
var lastWords = time.Second

// bereaved is the error of a talk of whose tree a process has ended.
func (c *talk) bereaved() error {
	select {
	case <-c.ended:
		return fmt.Errorf("one of its processes ended: %s", c.how())
	case <-time.After(lastWords):
		return fmt.Errorf("one of its processes ended, and the others wait for it")
	}
}
