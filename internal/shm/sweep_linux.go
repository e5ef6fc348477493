package shm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Sweep removes from Dir the regions of this user that nobody holds: what jobs
// left whose processes all died while they were joining. It returns the removed
// names, also beside an error. What somebody holds, what is no regular file of
// this user with mode 0600, does not begin as a region, and what has another
// prefix is left alone. May be
// called concurrently, by any process, at any time.
func Sweep() (removed []string, err error) {
	dir := Dir()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, noDirectory(dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("shm: sweep: %w", err)
	}
	var failed []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ownPrefix()) || !e.Type().IsRegular() {
			continue
		}
		end, err := sweep(filepath.Join(dir, e.Name()))
		if end == swept {
			removed = append(removed, e.Name())
		}
		var foreign *ForeignError
		if err != nil && !errors.As(err, &foreign) {
			failed = append(failed, err)
		}
	}
	return removed, errors.Join(failed...)
}

// regionLike reports whether the file begins as a region: with Magic, or with
// nothing yet, or not at all any more.
func (f *File) regionLike() bool {
	var head [len(Magic)]byte
	n, _ := f.file.ReadAt(head[:], 0)
	return n == 0 || string(head[:n]) == Magic || head == [len(Magic)]byte{}
}

// outcome is what sweep found under a name.
type outcome int

const (
	gone     outcome = iota // nothing, any more
	swept                   // a dead region: removed
	alive                   // a region that somebody holds
	sweeping                // a dead region that another process is about to remove
)

// sweep removes the region at path if nobody holds it. A truncated one counts
// as a region: it would keep its name for ever.
func sweep(path string) (outcome, error) {
	fd, err := openFile(path, unix.O_NOFOLLOW)
	if errors.Is(err, fs.ErrNotExist) {
		return gone, nil
	} else if err != nil {
		return alive, refused(path, err)
	}
	f, err := adopt(fd, path)
	if err != nil {
		return alive, err
	}
	defer f.Close()
	if !f.regionLike() {
		return alive, &ForeignError{Path: path, What: "it does not begin as a region does"}
	}
	phase("found")
	mine, err := tryLock(fd, exclusive, heldByte)
	if err != nil {
		return alive, fmt.Errorf("shm: %s: lock: %w", path, err)
	}
	if !mine {
		// Holders share the byte; only a sweeper keeps us from sharing it too.
		held, err := tryLock(fd, shared, heldByte)
		if err != nil || held {
			return alive, err
		}
		return sweeping, nil
	}
	phase("mine")
	// Its name may have gone, and another's have come, before the lock.
	if same, err := leadsTo(path, fd); err != nil || !same {
		return gone, err
	}
	return swept, unlinkIf(path, fd)
}
