// Package env is the one table of the SYMWIN_* environment variables: their
// names, their defaults and what they mean. "shmrun help env" prints it, and
// nothing else in the module reads such a variable from the environment.
//
// Invariant: a variable that is not in [Table] does not exist; [Get] panics
// for it, so a misspelt name cannot silently mean its default.
package env

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// The names. A launcher sets the first three for every rank; people set the
// others.
const (
	KeyJob         = "SYMWIN_JOB"
	KeyRank        = "SYMWIN_RANK"
	KeySize        = "SYMWIN_SIZE"
	KeyWindow      = "SYMWIN_WINDOW"
	KeyBacking     = "SYMWIN_BACKING"
	KeyJoinTimeout = "SYMWIN_JOIN_TIMEOUT"
	KeyStall       = "SYMWIN_STALL"
	KeyStallReport = "SYMWIN_STALL_REPORT"
	KeyLog         = "SYMWIN_LOG"
	KeyShmDir      = "SYMWIN_SHM_DIR"
	KeyLiveness    = "SYMWIN_LIVENESS"
	KeyHosted      = "SYMWIN_HOSTED"
	KeyAlgo        = "SYMWIN_ALGO"
	KeyFailpoint   = "SYMWIN_FAILPOINT"
)

// Var is one variable of the table.
type Var struct {
	Name    string
	Default string // what holds where the variable is unset or empty
	Text    string // one line for people
}

// Table lists every variable, in the order in which people meet them.
var Table = []Var{
	{KeyJob, "", "name of the job, the same on all its ranks; set by shmrun, or by hand together with the next two"},
	{KeyRank, "", "number of this rank, from 0"},
	{KeySize, "", "how many ranks the job has, 1 to 1024"},
	{KeyWindow, "1G", "address space of one rank's window (64M, 1G); memory is taken only where it is allocated"},
	{KeyBacking, "auto", "where the windows live: shm (/dev/shm), memfd (where /dev/shm is small), auto"},
	{KeyJoinTimeout, "30s", "how long Join waits for the other ranks before it names who did not come"},
	{KeyStall, "10m", "deadline of one operation that waits for other ranks; 0: none"},
	{KeyStallReport, "10s", "after so long one line tells which ranks are late and what they do; 0: never"},
	{KeyLog, "", "debug: tell on stderr what was found, chosen and waited for"},
	{KeyShmDir, "/dev/shm", "directory of the regions' names; tests put it on a small tmpfs"},
	{KeyLiveness, "auto", "how a rank's death is noticed: auto (robust futex where the kernel has it), pidfd (the fallback)"},
	{KeyAlgo, "", "engines of collectives, instead of the measured choice: alltoall:ce (copies), gather:bcopy (copies through the staging ring), allreduce:ll64 (lines), allgather:16K (lines up to so much); several by commas, the same on all ranks"},
	{KeyHosted, "", "1: a launcher has created the region; a rank that finds no name is told so. Set by shmrun"},
	{KeyFailpoint, "", "in programs built with -tags symwinfail only: where and how this process fails, name:action[:count]"},
}

// Get returns the value of the variable name, or its default where it is
// unset or empty. It panics for a name that is not in [Table].
func Get(name string) string {
	for i := range Table {
		if Table[i].Name == name {
			if v := os.Getenv(name); v != "" {
				return v
			}
			return Table[i].Default
		}
	}
	panic("env: no variable " + name + " in the table")
}

// Duration returns the variable name as a duration, as [ParseDuration] reads
// it. The error names the variable.
func Duration(name string) (time.Duration, error) {
	d, err := ParseDuration(Get(name))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// ErrSyntax is what a text that is no duration and no size answers to under
// [errors.Is]; the error's text says what would be one.
var ErrSyntax = errors.New("bad value")

// ParseDuration reads a duration of zero or more: a bare number counts
// seconds ("10", "2.5"), anything else is what [time.ParseDuration] reads
// ("300ms", "10m").
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if s, bare := strconv.ParseFloat(text, 64); bare == nil {
		ns := s * float64(time.Second)
		if math.IsNaN(ns) || ns >= math.MaxInt64 {
			return 0, fmt.Errorf("%w: duration %q is too long", ErrSyntax, text)
		}
		d, err = time.Duration(ns), nil
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %q is no duration; write seconds (10, 2.5) or 300ms, 10s, 5m, 1h", ErrSyntax, text)
	case d < 0:
		return 0, fmt.Errorf("%w: duration %q is negative", ErrSyntax, text)
	}
	return d, nil
}

// Size reads a number of bytes: "4096", or with one of the suffixes K,
// M, G, T, which count in powers of 1024 and may be followed by B or iB in
// either case ("64K", "1g", "1GiB").
func Size(text string) (int64, error) {
	digits := strings.TrimRight(strings.ToUpper(text), "KMGTIB")
	shift := uint(0)
	switch unit := strings.ToUpper(text)[len(digits):]; unit {
	case "", "B":
	case "K", "KB", "KIB":
		shift = 10
	case "M", "MB", "MIB":
		shift = 20
	case "G", "GB", "GIB":
		shift = 30
	case "T", "TB", "TIB":
		shift = 40
	default:
		return 0, badSize(text)
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%w: size %q is too large", ErrSyntax, text)
	}
	if err != nil {
		return 0, badSize(text)
	}
	return int64(n << shift), nil
}

func badSize(text string) error {
	return fmt.Errorf("%w: %q is no size: write 4096, 64K, 16M or 1G", ErrSyntax, text)
}

// FormatSize is the inverse of [Size] in the largest unit that divides
// n: "1G", "64K", "4097".
func FormatSize(n int64) string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{40, "T"}, {30, "G"}, {20, "M"}, {10, "K"}} {
		if n != 0 && n&(1<<u.shift-1) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Debug reports whether SYMWIN_LOG asks for debug messages.
func Debug() bool { return Get(KeyLog) == "debug" }
