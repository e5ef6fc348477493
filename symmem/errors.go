package symmem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symwin/symwin/internal/shm"
)

// The vocabulary of failure. Every error of the library satisfies errors.Is for
// one of these; the types below carry the details for errors.As.
var (
	// ErrRankFailed: a rank died: killed, panicked, or ended without Close.
	ErrRankFailed = errors.New("a rank failed")
	// ErrTimeout: a rank did not come within the deadline of the operation.
	ErrTimeout = errors.New("timed out")
	// ErrMismatch: ranks called different operations, sizes or types. Of types that are made
	// of others (arrays, structs) only that, and how long they are, is compared.
	ErrMismatch = errors.New("ranks made different calls")
	// ErrNoSpace: memory for the region or an allocation is not to be had. All
	// ranks get it and go on.
	ErrNoSpace = errors.New("not enough shared memory")
	// ErrAborted: another rank gave up a collective, or aborted the world.
	ErrAborted = errors.New("aborted by another rank")
	// ErrLeft: a rank that is waited for has closed its world.
	ErrLeft = errors.New("a rank has left")
	// ErrRegion: the region is not one of ours, is damaged, or is another version's.
	ErrRegion = errors.New("not a usable region")
	// ErrClosed: the own world, team or session is closed.
	ErrClosed = errors.New("closed")
	// ErrUsage: a bad argument. Nothing was stored; the call does not count.
	ErrUsage = errors.New("bad argument")
	// ErrTooShort: a destination on some rank is too short. All ranks get it.
	ErrTooShort = errors.New("destination too short")
)

// RankFailedError names the ranks that died. It is ErrRankFailed.
type RankFailedError struct {
	Ranks []int  // world ranks, ascending
	Cause string // how, as far as anybody knows: "killed by signal 9"; may be empty
}

func (e *RankFailedError) Error() string {
	s := ranksText(e.Ranks) + " failed"
	if e.Cause != "" {
		s += ": " + e.Cause
	}
	return s
}

// Unwrap makes errors.Is(err, ErrRankFailed) true.
func (e *RankFailedError) Unwrap() error { return ErrRankFailed }

// TimeoutError says which ranks a call waited for in vain. It is ErrTimeout,
// and also Err: context.DeadlineExceeded or context.Canceled where the caller's
// context ended the wait.
type TimeoutError struct {
	Call    Record        // what was waited in
	Missing []int         // world ranks that did not come
	Doing   []Record      // what each of them did last; Sequence 0: nothing yet
	Waited  time.Duration // how long; zero where a context ended the wait
	Err     error         // the context's error, or nil for the operation's own deadline
}

func (e *TimeoutError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: ", e.Call)
	if e.Err != nil {
		fmt.Fprintf(&b, "%v while waiting for %s", e.Err, ranksText(e.Missing))
	} else {
		fmt.Fprintf(&b, "waited %v for %s", e.Waited.Round(time.Millisecond), ranksText(e.Missing))
	}
	for i, r := range e.Missing {
		if i == 4 {
			fmt.Fprintf(&b, "; …")
			break
		}
		if e.Doing[i].Sequence != 0 {
			fmt.Fprintf(&b, "; last call of rank %d: %v", r, e.Doing[i])
		} else {
			fmt.Fprintf(&b, "; rank %d has made no call there", r)
		}
	}
	return b.String()
}

// Unwrap makes the error ErrTimeout, or the context's own error.
func (e *TimeoutError) Unwrap() []error {
	switch {
	case e.Err == nil:
		return []error{ErrTimeout}
	case errors.Is(e.Err, context.DeadlineExceeded):
		return []error{ErrTimeout, e.Err}
	default:
		return []error{e.Err}
	}
}

// MismatchError shows the different calls that ranks made in one place. It is
// ErrMismatch.
type MismatchError struct {
	Ranks []int    // world ranks whose calls are known
	Calls []Record // the call of each
	Odd   []int    // the ranks in the minority; empty where there is no majority
}

func (e *MismatchError) Error() string {
	groups := map[string][]int{}
	var order []string
	for i, c := range e.Calls {
		s := c.String()
		if slices.ContainsFunc(e.Calls, func(o Record) bool { return o.Digest != c.Digest && o.String() == s }) {
			s += fmt.Sprintf(" with digest %x", c.Digest) // all that tells them apart
		}
		if groups[s] == nil {
			order = append(order, s)
		}
		groups[s] = append(groups[s], e.Ranks[i])
	}
	var parts []string
	for _, s := range order {
		verb := "called"
		parts = append(parts, fmt.Sprintf("%s %s %s", ranksText(groups[s]), verb, s))
	}
	s := "calls do not match: " + strings.Join(parts, ", ")
	if len(e.Odd) > 0 {
		s += "; the odd one is " + ranksText(e.Odd)
	}
	return s
}

// Unwrap makes errors.Is(err, ErrMismatch) true.
func (e *MismatchError) Unwrap() error { return ErrMismatch }

// AbortedError says who gave up and why. It is ErrAborted, and also what the
// author's reason was (ErrMismatch, ErrTimeout, …) where that crossed.
type AbortedError struct {
	Rank   int    // world rank of the author; -1 for the launcher
	Team   int    // the revoked team's number, or -1 for the whole world
	Reason string // the author's words, up to 240 bytes
	kind   AbortKind
}

func (e *AbortedError) Error() string {
	who := fmt.Sprintf("rank %d", e.Rank)
	if e.Rank < 0 {
		who = "the launcher"
	}
	what := "the world"
	if e.Team >= 0 {
		what = fmt.Sprintf("team %d", e.Team)
	}
	return fmt.Sprintf("%s aborted %s: %s", who, what, e.Reason)
}

// Unwrap makes errors.Is work for ErrAborted and for the author's reason.
func (e *AbortedError) Unwrap() []error {
	if c := e.kind.class(); c != nil {
		return []error{ErrAborted, c}
	}
	return []error{ErrAborted}
}

// LeftError names ranks that closed their world although they are waited for.
// It is ErrLeft.
type LeftError struct {
	Call  Record
	Ranks []int
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("%v waits for %s, which closed its world and is gone", e.Call, ranksText(e.Ranks))
}

// Unwrap makes errors.Is(err, ErrLeft) true.
func (e *LeftError) Unwrap() error { return ErrLeft }

// NoSpaceError says on which rank how much was missing. It is ErrNoSpace.
type NoSpaceError struct {
	Rank       int // world rank, or -1 for the creator of the region
	Need, Have int64
	Where      string // "/dev/shm", "the window (--window)", …
}

func (e *NoSpaceError) Error() string {
	who := ""
	if e.Rank >= 0 {
		who = fmt.Sprintf("rank %d: ", e.Rank)
	}
	remedy := ""
	switch {
	case strings.HasSuffix(e.Where, forControl):
		remedy = "; free some, or make it larger (docker --shm-size=1g, mount -o remount,size=1g)" // whatever the backing, they are in the named file
	case e.Where == shm.Cgroup:
		remedy = "; ask for less, or raise the limit (memory.max, docker --memory)"
	case strings.HasPrefix(e.Where, "/"):
		remedy = "; free some, make it larger (docker --shm-size=1g, mount -o remount,size=1g), or put the windows elsewhere: --backing memfd (SYMWIN_BACKING=memfd)"
	}
	return fmt.Sprintf("%snot enough space in %s: need %s, have %s%s", who, e.Where, sizeText(e.Need), sizeText(e.Have), remedy)
}

// forControl follows the directory in Where if it has no room even for the
// region's own pages.
const forControl = " for the job's control blocks"

// Unwrap makes errors.Is(err, ErrNoSpace) true.
func (e *NoSpaceError) Unwrap() error { return ErrNoSpace }

// TooShortError says on which rank a destination does not hold what comes. It
// is ErrTooShort, and every rank of the team gets the same one.
type TooShortError struct {
	Rank       int // team rank
	Need, Have int // elements
}

func (e *TooShortError) Error() string {
	return fmt.Sprintf("destination on rank %d is too short: %d elements come, it holds %d; nothing was copied", e.Rank, e.Need, e.Have)
}

// Unwrap makes errors.Is(err, ErrTooShort) true.
func (e *TooShortError) Unwrap() error { return ErrTooShort }

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUsage}, args...)...)
}

func regionError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRegion}, args...)...)
}

// ranksText reads "rank 3" or "ranks 0-4, 7".
func ranksText(ranks []int) string {
	switch len(ranks) {
	case 0:
		return "no rank"
	case 1:
		return fmt.Sprintf("rank %d", ranks[0])
	}
	var b strings.Builder
	b.WriteString("ranks ")
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		switch j - i {
		case 0:
			fmt.Fprintf(&b, "%d", ranks[i])
		case 1:
			fmt.Fprintf(&b, "%d, %d", ranks[i], ranks[j])
		default:
			fmt.Fprintf(&b, "%d-%d", ranks[i], ranks[j])
		}
		i = j + 1
	}
	return b.String()
}

func sizeText(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
