// Command soak is the fault campaign: it runs jobs whose ranks verify every byte
// they exchange, lets them meet faults under a seeded schedule, and looks at what
// the survivors say and what is left.
//
//	make soak DURATION=10m        the campaign
//	soak -seed S -round R         one round of it again
//
// A round is one job: two to sixteen ranks, under the launcher or by themselves,
// and one kind of fault (see plan). Everything about it follows from the seed
// and its number, but for the instant at which a fault from outside hits.
//
// The invariant it checks: whatever happens, every survivor gets the typed error
// that names the right ranks, at once and again from every later call; nobody
// hangs; no byte is wrong; and no process, name or descriptor is left. Times are
// measured with the clock that all processes share, from the fault to the return
// of each survivor's call, and printed, never judged: only a watchdog of many
// seconds ends what hangs.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/symwin/symwin/internal/failpoint"
)

func main() {
	play()
	os.Exit(inPrivate(os.Args[1:]))
}

// The program plays all parts: it is started again as ranks and as launchers.
const (
	roleVar = "SOAK_ROLE"
	planVar = "SOAK_PLAN"
	markVar = "SOAK_MARK" // in the environment of all that a round has started
)

// play plays the part that the environment names, if it does.
func play() {
	switch os.Getenv(roleVar) {
	case "rank":
		os.Exit(playRank())
	case "launcher":
		os.Exit(playLauncher())
	case "private": // a test's
		os.Exit(inPrivate(os.Args[1:]))
	case "campaign":
		os.Exit(campaign(os.Args[1:], os.Stdout))
	}
}

// interrupts end the campaign behind the round that is under way, which leaves
// nothing behind then, as any.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// campaign runs rounds until the time is over and returns the exit code.
func campaign(args []string, out io.Writer) int {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	duration := flags.Duration("duration", time.Minute, "how long")
	rounds := flags.Int("rounds", 0, "how many rounds, whatever the time; 0: by the time")
	seed := flags.Uint64("seed", uint64(os.Getpid()), "of the schedule")
	round := flags.Int("round", -1, "only this one")
	kind := flags.String("fault", "", "only rounds with this kind of fault")
	keep := flags.String("keep", "", "directory for what the ranks of failed rounds wrote")
	verbose := flags.Bool("v", false, "tell every round, and what its ranks wrote")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	runtime.LockOSThread() // see job.start
	field, err := prepareField()
	if err != nil {
		fmt.Fprintln(out, "soak:", err)
		return 1
	}
	defer field.clear()
	fmt.Fprintf(out, "soak: seed %d, failpoints %v, tmpfs of its own %v\n", *seed, failpoint.Enabled, field.mounted)

	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, interrupts...)
	t := newTally()
	start := time.Now()
	for r := max(*round, 0); ; r++ {
		if *rounds > 0 && t.rounds >= *rounds || *rounds == 0 && *round < 0 && time.Since(start) > *duration {
			break
		}
		p := newPlan(*seed, r, field.mounted)
		if *kind != "" && string(p.Fault) != *kind {
			continue
		}
		got := field.run(p)
		if len(interrupted) > 0 { // which may have met this round's ranks, too
			fmt.Fprintf(out, "soak: ended by: %v\n", <-interrupted)
			t.print(out, time.Since(start), *seed)
			return 1
		}
		t.add(p, got)
		if *verbose {
			fmt.Fprintf(out, "round %d: %v: %v\n%s", r, p, got.took.Round(time.Millisecond), got.written)
		}
		for _, f := range got.failures {
			fmt.Fprintf(out, "FAIL %v: %s; repeat: soak -seed %d -round %d -v\n", p, f, *seed, r)
		}
		if len(got.failures) > 0 && *keep != "" {
			_ = os.WriteFile(filepath.Join(*keep, fmt.Sprintf("soak-%d-%d.txt", *seed, r)), []byte(got.written), 0o600)
		}
		if *round >= 0 {
			break
		}
	}
	if left := field.left(); left != "" {
		t.leaks++
		fmt.Fprintf(out, "FAIL at the end: %s\n", left)
	}
	t.print(out, time.Since(start), *seed)
	if t.bad() {
		return 1
	}
	return 0
}
