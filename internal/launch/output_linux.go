package launch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// outputs carries what the ranks write to where it belongs.
type outputs struct {
	say   func(string, ...any)
	mu    sync.Mutex // around every write to the launcher's Stdout and Stderr
	null  int        // /dev/null
	pumps []*os.File // read ends
	done  sync.WaitGroup
	ours  []int      // write ends to be closed once the ranks have theirs
	files []*os.File // and files
	lost  error      // why something that a rank wrote is nowhere; the first reason
}

// stream is one of a rank's two outputs.
type stream func(rank int) (fd uintptr, err error)

// to arranges where the ranks' stdout or stderr goes; see Options.
func (o *outputs) to(w io.Writer, t tags) (stream, error) {
	if w == nil {
		return func(int) (uintptr, error) { return uintptr(o.null), nil }, nil
	}
	if !t.none() {
		return func(rank int) (uintptr, error) { return o.pipe(newTagger(t.of(rank), &o.mu, kept{w})) }, nil
	}
	if f, ok := w.(*os.File); ok {
		return func(int) (uintptr, error) { return f.Fd(), nil }, nil
	}
	fd, err := o.pipe(locked{&o.mu, w})
	return func(int) (uintptr, error) { return fd, err }, err
}

// toFiles is to for files of the ranks' own, which it opens: the error comes
// before a rank has been started.
func (o *outputs) toFiles(dir, suffix string, n int, t tags) (stream, error) {
	fds := make([]uintptr, n)
	for rank := range fds {
		f, err := os.OpenFile(outputFile(dir, rank, n, suffix), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o666)
		if err != nil {
			return nil, err
		}
		if t.none() {
			fds[rank] = f.Fd()
			o.files = append(o.files, f)
			continue
		}
		if fds[rank], err = o.pipe(newTagger(t.of(rank), new(sync.Mutex), f)); err != nil {
			return nil, err
		}
	}
	return func(rank int) (uintptr, error) { return fds[rank], nil }, nil
}

// outputFile is the name of a file of rank's of n: rank-00.out, and so that a
// listing is in order, rank-007.out among hundreds.
func outputFile(dir string, rank, n int, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("rank-%0*d.%s", max(2, len(strconv.Itoa(n-1))), rank, suffix))
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
		o.lose(pump(r, w))
	}()
	return uintptr(p[1]), nil
}

// lose tells why output does not get to where it belongs, and keeps that for the
// end: the rank whose pipe held it may have ended well long before. A reader that
// has gone has read what it wanted ("| head").
func (o *outputs) lose(err error) {
	if err == nil || errors.Is(err, unix.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return
	}
	o.say("%v", err)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = cmp.Or(o.lost, err)
}

// started closes the launcher's copies of what the ranks have inherited, so that
// a pipe ends with its last writer.
func (o *outputs) started() {
	for _, fd := range o.ours {
		_ = unix.Close(fd)
	}
	for _, f := range o.files {
		_ = f.Close()
	}
	o.ours, o.files = nil, nil
}

// finish is called when all ranks have ended: what they wrote is in the pipes,
// and is passed on. A process that a rank left behind may still hold a pipe; it
// is not waited for. The error is why output was lost.
func (o *outputs) finish() error {
	o.started()
	for _, r := range o.pumps {
		_ = r.SetReadDeadline(time.Unix(1, 0))
	}
	o.done.Wait()
	return o.lost
}

// pump copies r into w until r ends, or its deadline passes and what it holds at
// that moment is copied. If w fails, r is closed, so that the ranks meet the
// broken pipe themselves as if they had written to it; the error is w's first.
func pump(r *os.File, w io.WriteCloser) (lost error) {
	defer func() { lost = cmp.Or(lost, w.Close()) }()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return drain(r, w, buf)
		}
		if err != nil {
			return nil
		}
	}
}

// drain copies what is in the pipe now. A pipe never holds more than its
// capacity, so however fast somebody goes on writing, what was there comes first
// and the rest is not waited for.
func drain(r *os.File, w io.Writer, buf []byte) (lost error) {
	_ = r.SetReadDeadline(time.Time{})
	c, err := r.SyscallConn()
	if err != nil {
		return err
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
			if _, lost = w.Write(buf[:n]); lost != nil {
				break
			}
		}
		return true
	})
	return lost
}
