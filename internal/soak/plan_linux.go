package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/symwin/symwin/internal/failpoint"
)

// fault is a kind of fault.
type fault string

// The kinds, with their share of the rounds.
const (
	killed   fault = "kill"     // ranks end at any moment: SIGKILL, panic, exit
	pointed  fault = "point"    // the same at a failpoint, or a rank is stopped there, or writes garbage
	parked   fault = "parked"   // the same while they sleep in a wait
	joining  fault = "join"     // ranks are killed while they join
	stopped  fault = "stop"     // ranks are stopped and go on later
	launcher fault = "launcher" // the launcher is killed, at any moment from its start on
	everyone fault = "all"      // all are killed at one stroke, at any moment from the start on
	full     fault = "space"    // memory runs out, at creation, at Alloc, at staging
	scribble fault = "garbage"  // somebody writes into control words and windows
	truncate fault = "truncate" // somebody truncates the file
)

var shares = []struct {
	fault
	share int
}{
	{killed, 36}, {pointed, 26}, {parked, 7}, {joining, 7}, {stopped, 8},
	{launcher, 5}, {everyone, 3}, {full, 3}, {scribble, 4}, {truncate, 1},
}

// plan is what happens in one round.
type plan struct {
	Seed     uint64        `json:"seed"`
	Round    int           `json:"round"`
	Ranks    int           `json:"ranks"`
	Hosted   bool          `json:"hosted"`   // under the launcher
	Backing  string        `json:"backing"`  // of the windows
	Liveness string        `json:"liveness"` // how deaths are noticed
	Fault    fault         `json:"fault"`
	Victims  []int         `json:"victims"`
	How      string        `json:"how"`     // a victim ends: kill, panic, exit, return; or, at a failpoint, does not: stop, garbage
	Point    string        `json:"point"`   // at this failpoint
	Count    int           `json:"count"`   // for this time
	Delay    time.Duration `json:"delay"`   // the fault comes so long after all have joined, or after the start
	Touched  int           `json:"touched"` // MiB that a victim has touched before: what the kernel frees takes time
	Work     time.Duration `json:"work"`    // how long the ranks work if nothing ends them
	Mix      []string      `json:"mix"`     // the operations that they take turns in
}

// newPlan draws round number round of a seed; mounted says whether there is a
// small file system to fill.
func newPlan(seed uint64, round int, mounted bool) plan {
	random := rand.New(rand.NewPCG(seed, uint64(round)))
	p := plan{Seed: seed, Round: round, Hosted: random.IntN(2) == 0, Work: time.Minute, Count: 1, How: "kill"}
	p.Ranks = []int{2, 2, 3, 3, 4, 4, 5, 5, 6, 8, 8, 12, 16}[random.IntN(13)]
	p.Backing = []string{"shm", "memfd"}[random.IntN(2)]
	p.Liveness = "auto"
	if random.IntN(8) == 0 {
		p.Liveness = "pidfd"
	}
	sum := 0
	for _, s := range shares {
		sum += s.share
	}
	n := random.IntN(sum)
	for _, s := range shares {
		if n -= s.share; n < 0 {
			p.Fault = s.fault
			break
		}
	}
	if p.Fault == pointed && !failpoint.Enabled || p.Fault == full && !mounted {
		p.Fault = killed
	}
	p.Delay = time.Duration(random.IntN(40_000)) * time.Microsecond
	// One victim mostly, sometimes several, and in few rounds all but one.
	victims := 1
	switch random.IntN(6) {
	case 0, 1:
		victims = 1 + random.IntN(p.Ranks-1)
	case 2:
		victims = p.Ranks - 1
	}
	p.Victims = random.Perm(p.Ranks)[:victims]
	slices.Sort(p.Victims)
	p.Mix = slices.Clone(operationNames)
	random.Shuffle(len(p.Mix), func(i, j int) { p.Mix[i], p.Mix[j] = p.Mix[j], p.Mix[i] })
	p.Mix = p.Mix[:2+random.IntN(len(p.Mix)-1)]

	switch p.Fault {
	case killed, parked:
		p.How = []string{"kill", "kill", "panic", "exit", "return"}[random.IntN(5)]
		if random.IntN(25) == 0 {
			p.Touched, p.Victims = 1024, p.Victims[:1]
		}
		if p.Fault == parked {
			p.How = "kill"
			p.Mix = append(p.Mix, "late")
		}
	case pointed:
		p.How = []string{"kill", "kill", "kill", "panic", "panic", "exit", "exit", "stop", "garbage"}[random.IntN(9)]
		p.Point = failpoint.Names[random.IntN(len(failpoint.Names))]
		p.Count = 1 + random.IntN(4)*random.IntN(12)
		p.Work = 150 * time.Millisecond
		if once(p.Point) {
			p.Count = 1
		}
		p.Mix = append(p.Mix, reaches(p.Point)...)
	case joining, everyone, launcher:
		p.Delay = time.Duration(random.IntN(30_000)) * time.Microsecond
		p.Work = 200 * time.Millisecond
		if p.Fault == launcher {
			p.Hosted = true
		}
	case stopped:
		p.Work = 150 * time.Millisecond
		if p.Hosted && random.IntN(2) == 0 {
			p.Work = 400 * time.Millisecond
		}
	case full:
		p.Backing, p.Ranks, p.Work = "shm", min(p.Ranks, 6), 100*time.Millisecond
		p.Mix = []string{"fill", "large", "barrier", "signal"}
	case scribble, truncate:
		p.Work = 150 * time.Millisecond
	}
	if p.Ranks <= slices.Max(p.Victims) {
		p.Victims = []int{random.IntN(p.Ranks)}
	}
	return p
}

// once tells whether a process comes by a point only once.
func once(point string) bool {
	return strings.HasPrefix(point, "join.") || strings.HasPrefix(point, "close.") || strings.HasPrefix(point, "shm.")
}

// mayLeaveName tells whether all who had a region may have died at one stroke
// before it had lost its name: then the next start takes it away. It may be the
// region of one who came after the others had given up.
func (p plan) mayLeaveName() bool {
	switch p.Fault {
	case everyone, joining:
		return true
	case pointed:
		return once(p.Point) || p.spoils()
	}
	return p.spoils()
}

// spoils tells whether shared memory is not what the ranks have made it.
func (p plan) spoils() bool {
	return p.Fault == scribble || p.Fault == truncate || p.Fault == pointed && p.How == "garbage"
}

// deaths tells whether the fault is that ranks end.
func (p plan) deaths() bool {
	switch p.Fault {
	case pointed:
		return p.How != "stop" && p.How != "garbage"
	case killed, parked, joining:
		return true
	}
	return false
}

// reaches are operations that come by a point.
func reaches(point string) []string {
	switch kind, _, _ := strings.Cut(point, "."); kind {
	case "split", "exchange":
		return []string{"split"}
	case "alloc", "free", "area":
		return []string{"alloc"}
	case "send", "epoch":
		return []string{"session", "small"}
	case "copy":
		return []string{"large", "batch", "views", "reduce"}
	case "bell", "park", "revoke", "abort":
		return []string{"late"}
	case "signal":
		return []string{"signal"}
	}
	return nil
}

func (p plan) String() string {
	s := fmt.Sprintf("%s, %d ranks, %s, %s", p.Fault, p.Ranks, p.Backing, p.Liveness)
	if p.Hosted {
		s += ", launcher"
	}
	switch p.Fault {
	case pointed:
		s += fmt.Sprintf(", %v %s at %s:%d", p.Victims, p.How, p.Point, p.Count)
	case killed, parked, joining, stopped:
		if p.Touched > 0 {
			s += fmt.Sprintf(", %d MiB touched", p.Touched)
		}
		s += fmt.Sprintf(", %v %s after %v", p.Victims, p.How, p.Delay)
	default:
		s += fmt.Sprintf(", after %v", p.Delay)
	}
	return s + fmt.Sprintf(", %v", p.Mix)
}

func (p plan) victim(rank int) bool { return slices.Contains(p.Victims, rank) }
