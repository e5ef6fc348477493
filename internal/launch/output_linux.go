package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// outputs carries what the ranks write to where it belongs.
type outputs struct {
	mu    sync.Mutex // around every write to the launcher's Stdout and Stderr
	null  int        // /dev/null
	pumps []*os.File // read ends
	done  sync.WaitGroup
	ours  []int // write ends to be closed once the ranks have theirs
}

// stream is one of a rank's two outputs.
type stream func(rank int) (fd uintptr, err error)

// to arranges where the ranks' stdout or stderr goes; see Options.
func (o *outputs) to(w io.Writer, tag bool) (stream, error) {
	if w == nil {
		return func(int) (uintptr, error) { return uintptr(o.null), nil }, nil
	}
	if tag {
		return func(rank int) (uintptr, error) { return o.pipe(newTagger(rank, &o.mu, w)) }, nil
	}
	if f, ok := w.(*os.File); ok {
		return func(int) (uintptr, error) { return f.Fd(), nil }, nil
	}
	fd, err := o.pipe(locked{&o.mu, w})
	return func(int) (uintptr, error) { return fd, err }, err
}

// pipe returns the write end of a pipe that is pumped into w.
func (o *outputs) pipe(w io.WriteCloser) (uintptr, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return 0, fmt.Errorf("pipe for a rank's output: %w", err)
	}
	if err := unix.SetNonblock(p[0], true); err != nil {
		return 0, err
	}
	r := os.NewFile(uintptr(p[0]), "output of ranks")
	o.pumps = append(o.pumps, r)
	o.ours = append(o.ours, p[1])
	o.done.Add(1)
	go func() {
		defer o.done.Done()
		defer r.Close()
		pump(r, w)
	}()
	return uintptr(p[1]), nil
}

// started closes the launcher's copies of what the ranks have inherited, so that
// a pipe ends with its last writer.
func (o *outputs) started() {
	for _, fd := range o.ours {
		_ = unix.Close(fd)
	}
	o.ours = nil
}

// finish is called when all ranks have ended: what they wrote is in the pipes,
// and is passed on. A process that a rank left behind may still hold a pipe; it
// is not waited for.
func (o *outputs) finish() {
	o.started()
	for _, r := range o.pumps {
		_ = r.SetReadDeadline(time.Unix(1, 0))
	}
	o.done.Wait()
}

// pump copies r into w until r ends, or its deadline passes and what it holds at
// that moment is copied. If w fails, r is closed, so that the ranks meet the
// broken pipe themselves as if they had written to it.
func pump(r *os.File, w io.WriteCloser) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drain(r, w, buf)
			err = io.EOF
		}
		if err != nil {
			_ = w.Close()
			return
		}
	}
}

// drain copies what is in the pipe now. A pipe never holds more than its
// capacity, so however fast somebody goes on writing, what was there comes first
// and the rest is not waited for.
func drain(r *os.File, w io.Writer, buf []byte) {
	_ = r.SetReadDeadline(time.Time{})
	c, err := r.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Read(func(fd uintptr) bool {
		left, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		for err == nil && left > 0 {
			var n int
			n, err = unix.Read(int(fd), buf)
			if err == unix.EINTR {
				err = nil
				continue
			}
			if n <= 0 {
				break
			}
			left -= n
			if _, failed := w.Write(buf[:n]); failed != nil {
				break
			}
		}
		return true
	})
}
