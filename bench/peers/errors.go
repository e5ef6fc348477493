package peers

import (
	"errors"
	"fmt"
)

// ErrCannot is wrapped by the error of [Open] or [Peer.Measure] where the peer
// has no such operation, touch, size or layout. Nothing is broken.
var ErrCannot = errors.New("this peer cannot do that")

func cannot(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCannot, fmt.Sprintf(format, args...))
}

// MissingError tells that a peer is not installed.
type MissingError struct {
	Peer    string // its name
	Package string // the Debian packages that hold it, separated by blanks
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed: apt-get install %s", e.Peer, e.Package)
}

// FailedError tells that a peer crashed, hung, or said what nobody understands.
// All its processes are gone; it cannot be measured any more.
type FailedError struct {
	Peer string // its name
	What string // what happened, in one line
}

func (e *FailedError) Error() string { return e.Peer + " failed: " + e.What }
