package launch

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// stdin brings the launcher's input to rank 0 through a pipe. The ranks are in
// process groups of their own, which a terminal stops when they read from it; the
// launcher is in the one that may.
type stdin struct {
	from io.Reader
	read int // rank 0's end
	pipe int // our end, not blocking
	wake int // eventfd: stop, or look again who owns the terminal
	done chan struct{}
}

const (
	wakeLook = 1       // added to the eventfd, so several are one
	wakeStop = 1 << 32 // and this is told from any number of them
)

func newStdin(from io.Reader) (*stdin, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("pipe for rank 0's input: %w", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.SetNonblock(p[1], true)
	}
	if err != nil {
		return nil, fmt.Errorf("rank 0's input: %w", err)
	}
	return &stdin{from: from, read: p[0], pipe: p[1], wake: wake, done: make(chan struct{})}, nil
}

// started begins to copy, when rank 0 has its end.
func (s *stdin) started() {
	_ = unix.Close(s.read)
	s.read = -1
	if f, ok := s.from.(*os.File); ok {
		go func() {
			defer close(s.done)
			s.copyFile(int(f.Fd()))
			_ = unix.Close(s.pipe)
		}()
		return
	}
	// Any other reader cannot be interrupted; it has the pipe for itself.
	w := os.NewFile(uintptr(s.pipe), "input of rank 0")
	close(s.done)
	go func() {
		defer w.Close()
		_, _ = io.Copy(w, s.from)
	}()
}

// continued tells that the launcher was continued: it may own the terminal now.
func (s *stdin) continued() { s.ring(wakeLook) }

func (s *stdin) ring(what uint64) {
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], what)
	_, _ = unix.Write(s.wake, word[:])
}

// finish ends the copying.
func (s *stdin) finish() {
	if s.read >= 0 { // never started
		_ = unix.Close(s.read)
		_ = unix.Close(s.pipe)
		close(s.done)
	}
	s.ring(wakeStop)
	<-s.done
	_ = unix.Close(s.wake)
}

// copyFile copies from until it ends, rank 0 does not read any more, or finish is
// called. It reads only what it can pass on, waits for all three in one poll, and
// leaves a terminal alone as long as that belongs to another process group:
// reading it would stop the launcher.
func (s *stdin) copyFile(from int) {
	_, err := unix.IoctlGetTermios(from, unix.TCGETS)
	terminal := err == nil
	buf := make([]byte, 32<<10)
	var rest []byte // read, not yet passed on
	for {
		poll := []unix.PollFd{{Fd: int32(s.wake), Events: unix.POLLIN}, {Fd: int32(s.pipe)}, {Fd: int32(from), Events: unix.POLLIN}}
		timeout := -1
		switch {
		case len(rest) > 0:
			poll[1].Events, poll[2].Fd = unix.POLLOUT, -1
		case terminal && !foreground(from):
			// Not every shell sends SIGCONT to a running job that it
			// brings to the foreground.
			poll[2].Fd, timeout = -1, 1000
		}
		if _, err := unix.Poll(poll, timeout); err != nil && err != unix.EINTR {
			return
		}
		if poll[0].Revents != 0 {
			var word [8]byte
			if n, _ := unix.Read(s.wake, word[:]); n == 8 && binary.NativeEndian.Uint64(word[:]) >= wakeStop {
				return
			}
			continue
		}
		if poll[1].Revents&unix.POLLERR != 0 {
			return // no reader is left
		}
		if poll[1].Revents&unix.POLLOUT != 0 {
			n, err := unix.Write(s.pipe, rest)
			if err != nil && err != unix.EAGAIN && err != unix.EINTR {
				return
			}
			rest = rest[max(n, 0):]
			continue
		}
		if poll[2].Revents != 0 {
			n, err := unix.Read(from, buf)
			if err == unix.EINTR || err == unix.EAGAIN {
				continue
			}
			if err != nil || n == 0 {
				return
			}
			rest = buf[:n]
		}
	}
}

// foreground reports whether the terminal belongs to our process group.
func foreground(terminal int) bool {
	group, err := unix.IoctlGetInt(terminal, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
