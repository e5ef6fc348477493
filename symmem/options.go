package symmem

import (
	"fmt"
	"os"
	"time"

	"github.com/symwin/symwin/internal/env"
)

// Options is what JoinWith needs to know. Join fills it from the environment.
type Options struct {
	// Job names the region; all ranks give the same, and one job at a time has
	// a name. Letters, digits and -_.@, up to 200.
	Job string
	// Rank is this process's number, 0 to Size-1; Size is how many there are,
	// up to 1024. Both zero with an empty Job: a world of one.
	Rank, Size int
	// Window is the address space of one rank's window in bytes, 0 for 1 GiB.
	// Memory is taken by Alloc, not by this.
	Window int64
	// Backing says where the windows lie.
	Backing Backing
	// JoinTimeout bounds Join, 0 for 30 s.
	JoinTimeout time.Duration
	// Stall is the deadline of one operation, 0 for 10 min, negative for none.
	Stall time.Duration
	// StallReport is after how long a wait tells, once and in one line, whom it
	// waits for; 0 for 10 s, negative for never.
	StallReport time.Duration
	// Report receives that line, and with SYMWIN_LOG=debug others; nil for
	// standard error. It may be called from any goroutine.
	Report func(line string)

	hosted bool   // a launcher made the region
	origin string // which variables said so, and what to do if they are wrong; may be empty
	pidfd  bool   // SYMWIN_LIVENESS=pidfd
	debug  bool
}

const (
	defaultWindow      = 1 << 30
	heapWindow         = 16 << 20
	defaultJoinTimeout = 30 * time.Second
	defaultStall       = 10 * time.Minute
	defaultStallReport = 10 * time.Second
)

// withDefaults fills zeroes, from the variables that are not about who we are.
func (o Options) withDefaults(window int64) (Options, error) {
	for _, d := range []struct {
		field *time.Duration
		name  string
	}{
		{&o.JoinTimeout, env.KeyJoinTimeout},
		{&o.Stall, env.KeyStall},
		{&o.StallReport, env.KeyStallReport},
	} {
		if *d.field != 0 {
			continue
		}
		v, err := env.Duration(d.name)
		if err != nil {
			return o, usage("%v", err)
		}
		if *d.field = v; v == 0 {
			*d.field = -1
		}
	}
	if o.Window == 0 {
		if os.Getenv(env.KeyWindow) == "" {
			o.Window = window
		} else {
			v, err := env.Size(env.Get(env.KeyWindow))
			if err != nil {
				return o, usage("%s: %v", env.KeyWindow, err)
			}
			o.Window = v
		}
	}
	if o.Backing == BackingAuto {
		b, err := ParseBacking(env.Get(env.KeyBacking))
		if err != nil {
			return o, fmt.Errorf("%s: %w", env.KeyBacking, err)
		}
		o.Backing = b
	}
	switch v := env.Get(env.KeyLiveness); v {
	case "auto":
	case "pidfd":
		o.pidfd = true
	default:
		return o, usage("%s=%q: it is auto or pidfd", env.KeyLiveness, v)
	}
	o.debug = env.Get(env.KeyLog) == "debug"
	if o.Report == nil {
		o.Report = func(line string) { fmt.Fprintln(os.Stderr, line) }
	}
	return o, nil
}

// log tells, with SYMWIN_LOG=debug, what was found and chosen.
func (o *Options) log(format string, args ...any) {
	if o.debug {
		o.Report(fmt.Sprintf("symwin: rank %d: ", o.Rank) + fmt.Sprintf(format, args...))
	}
}
