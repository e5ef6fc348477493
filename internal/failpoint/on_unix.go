//go:build symwinfail && unix

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/symwin/symwin/internal/env"
)

// Enabled tells whether this program was built with failpoints.
const Enabled = true

// fault is one armed fault.
type fault struct {
	name, action string
	left         atomic.Int64 // hits until it happens
}

// armed is replaced as a whole, so that Hit takes no lock: it stands between
// instructions whose timing is what a test is about.
var armed atomic.Pointer[map[string]*fault]

var (
	before  atomic.Pointer[func(name, action string)]
	garbage atomic.Pointer[func()]
)

var actions = []string{"kill", "stop", "panic", "exit", "sleep", "garbage"}

func init() { Arm(env.Get(env.KeyFailpoint)) }

// Hit is called where a process may fail.
func Hit(name string) {
	faults := *armed.Load()
	if len(faults) == 0 {
		return
	}
	if f := faults[name]; f != nil && f.left.Add(-1) == 0 {
		f.happen()
	}
}

// Arm replaces what is armed; "" disarms all. It panics for what it cannot read,
// since a test that arms nothing would succeed.
func Arm(faults string) {
	table := map[string]*fault{}
	for one := range strings.SplitSeq(faults, ",") {
		if one == "" {
			continue
		}
		parts := strings.Split(one, ":")
		f := &fault{name: parts[0]}
		f.left.Store(1)
		bad := len(parts) < 2 || len(parts) > 3 || !slices.Contains(Names, f.name) || !slices.Contains(actions, parts[1])
		if len(parts) == 3 {
			n, err := strconv.ParseInt(parts[2], 10, 64)
			f.left.Store(n)
			bad = bad || err != nil || n < 1
		}
		if bad {
			panic(fmt.Sprintf("failpoint: %s=%q: write name:action[:count] with an action of %v and a name of %v", env.KeyFailpoint, one, actions, Names))
		}
		f.action = parts[1]
		table[f.name] = f
	}
	armed.Store(&table)
}

// Before has f called right before a fault happens, in the goroutine that came
// there: a campaign notes the time.
func Before(f func(name, action string)) { before.Store(&f) }

// OnGarbage says what the action garbage does.
func OnGarbage(f func()) { garbage.Store(&f) }

func (f *fault) happen() {
	if tell := before.Load(); tell != nil {
		(*tell)(f.name, f.action)
	}
	switch f.action {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // it comes on the way back from the call
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(5 * time.Millisecond) // another thread may be the first to stop
	case "panic":
		go panic("failpoint " + f.name)
		select {}
	case "exit":
		os.Exit(3)
	case "sleep":
		time.Sleep(20 * time.Millisecond)
	case "garbage":
		if do := garbage.Load(); do != nil {
			(*do)()
		}
	}
}
