package shmsync_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/symwin/symwin/internal/ranktest"
	"github.com/symwin/symwin/symmem"
	shmsync "github.com/symwin/symwin/sync"
)

// What a waiting rank leaves of its program: one wait is held in one phase for
// as long as it is watched, and beside it the program collects garbage, gives a
// goroutine work, and waits for a ticker and for deadlines. All processes run on
// one CPU, where it is hardest, and all wait; one of them is watched, because the
// programs of several at once would hold each other up (collections of four
// processes on one CPU take 25 ms without any wait). TestPhase only demands that everything goes on;
// BenchmarkPhase says how late it is.

var holdFor = flag.Duration("hold", 5*time.Second, "how long BenchmarkPhase and BenchmarkParked hold a wait")

func TestMain(m *testing.M) {
	ranktest.Main(m, map[string]ranktest.Scenario{
		"held":    held,
		"parked":  parked,
		"stopped": stopped,
	})
}

const (
	phaseVar = "SYNCTEST_PHASE"
	holdVar  = "SYNCTEST_HOLD" // a duration, or a number of cycles
)

var phases = []struct {
	name   string
	phase  shmsync.Phase
	policy shmsync.Policy
}{
	{"spin", shmsync.PhaseSpin, shmsync.Policy{Spin: shmsync.DefaultSpin}},
	{"yield", shmsync.PhaseYield, shmsync.Policy{}},
	{"park", shmsync.PhasePark, shmsync.Policy{}},
	{"none", shmsync.PhaseNone, shmsync.Policy{}}, // no wait at all: what the runtime and the machine cost
}

func eachPlacement(f func(name string, procs, processes int)) {
	for _, procs := range []int{1, 2} {
		for _, crowd := range []struct {
			name      string
			processes int
		}{{"alone", 1}, {"four", 4}} {
			f(fmt.Sprintf("procs=%d/%s", procs, crowd.name), procs, crowd.processes)
		}
	}
}

func TestPhase(t *testing.T) {
	for _, ph := range phases[:3] {
		eachPlacement(func(name string, procs, processes int) {
			t.Run(ph.name+"/"+name, func(t *testing.T) {
				for what, times := range hold(t, ph.name, procs, processes, "3") {
					require.NotEmpty(t, times, what)
				}
			})
		})
	}
}

func BenchmarkPhase(b *testing.B) {
	for _, ph := range phases {
		eachPlacement(func(name string, procs, processes int) {
			b.Run(ph.name+"/"+name, func(b *testing.B) {
				all := lateness{}
				for b.Loop() {
					all.merge(hold(b, ph.name, procs, processes, holdFor.String()))
				}
				for what, times := range all {
					slices.Sort(times)
					b.ReportMetric(times[len(times)/2], what+"-p50-ms")
					b.ReportMetric(times[len(times)-1], what+"-max-ms")
				}
				b.ReportMetric(0, "ns/op")
			})
		})
	}
}

// hold starts processes that each hold one wait in the phase, all on one CPU,
// and returns how late things were in the first of them. It is not watched before
// everybody waits, and nobody stops waiting before it was.
func hold(t testing.TB, phase string, procs, processes int, long string) lateness {
	t.Helper()
	job := ranktest.New(t)
	ranktest.OnCPU(t, -1, func() {
		for r := range processes {
			watched := long
			if r > 0 {
				watched = ""
			}
			job.Add(r, processes, "held", phaseVar+"="+phase, holdVar+"="+watched, "GOMAXPROCS="+strconv.Itoa(procs))
		}
	})
	step := func(text string) {
		for _, r := range job.Ranks {
			r.Await(t, text)
		}
		for _, r := range job.Ranks {
			r.Signal(syscall.SIGUSR1)
		}
	}
	step("waits")
	step("watched")
	job.Wait()
	output := job.Ranks[0].Output()
	_, text, _ := strings.Cut(output, "watched ")
	text, _, _ = strings.Cut(text, "\n")
	var late lateness
	require.NoError(t, json.Unmarshal([]byte(text), &late), output)
	return late
}

// lateness is, in milliseconds: how long a collection and a piece of work took,
// and how much later than they should a tick and a deadline came.
type lateness map[string][]float64

func (l lateness) add(what string, since time.Time, due time.Duration) {
	l[what] = append(l[what], math.Max(0, float64(time.Since(since)-due)/1e6))
}

func (l lateness) merge(other lateness) {
	for what, times := range other {
		l[what] = append(l[what], times...)
	}
}

// watch goes through everything that a program does beside a wait, as often or
// as long as it is told; not at all if it is told nothing.
func watch(long string) (lateness, error) {
	if long == "" {
		return lateness{}, nil
	}
	cycles, err := strconv.Atoi(long)
	var duration time.Duration
	if err != nil {
		if duration, err = time.ParseDuration(long); err != nil {
			return nil, err
		}
	}
	work, answers := make(chan []byte), make(chan uint32)
	defer close(work)
	go func() {
		for piece := range work {
			answers <- crc32.ChecksumIEEE(piece)
		}
	}()
	const period = 5 * time.Millisecond
	ticker := time.NewTicker(period)
	defer ticker.Stop()

	l := lateness{}
	piece := make([]byte, 4096)
	for began := time.Now(); cycles > 0 || time.Since(began) < duration; cycles-- {
		start := time.Now()
		runtime.GC()
		l.add("gc", start, 0)

		start = time.Now()
		work <- piece
		<-answers
		l.add("worker", start, 0)

		ticker.Reset(period)
		start = time.Now()
		for i := range 2 {
			<-ticker.C
			l.add("ticker", start, time.Duration(i+1)*period)
		}

		start = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), period)
		<-ctx.Done()
		l.add("deadline", start, period)
		cancel()
	}
	return l, nil
}

// never is the condition of a wait that is held; it tells how often it was
// looked at.
type never struct {
	over  atomic.Bool
	looks atomic.Int64
}

func (n *never) Look() bool                  { n.looks.Add(1); return n.over.Load() }
func (n *never) Missing(into []int) []int    { return into }
func (n *never) Over() bool                  { return false }
func (n *never) Ended() error                { return nil }
func (n *never) Inspect(time.Duration) error { return nil }

// held is one process of hold.
func held(ctx context.Context) error {
	next := make(chan os.Signal, 1)
	signal.Notify(next, syscall.SIGUSR1)
	phase := os.Getenv(phaseVar)
	p := shmsync.Place{Bell: new(shmsync.Doorbell)}
	for _, ph := range phases {
		if ph.name == phase {
			p.Policy = ph.policy
			shmsync.Hold(ph.phase)
		}
	}

	var n never
	done := make(chan error, 1)
	if phase == "none" {
		n.over.Store(true)
	}
	go func() { done <- p.Wait(ctx, &n, &n) }()
	for phase != "none" && n.looks.Load() < 100 && !p.Bell.Asleep() {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("waits")
	<-next
	late, err := watch(os.Getenv(holdVar))
	if err != nil {
		return err
	}
	if phase != "none" && len(done) > 0 || p.Bell.Asleep() != (phase == "park") {
		return errors.New("the wait was not held in its phase")
	}
	text, err := json.Marshal(late)
	if err != nil {
		return err
	}
	fmt.Printf("watched %s\n", text)
	<-next

	shmsync.Hold(shmsync.PhaseNone)
	n.over.Store(true)
	p.Bell.Ring()
	return <-done
}

// BenchmarkParked is what 32 ranks cost together that wait in a barrier for one
// more.
func BenchmarkParked(b *testing.B) {
	const ranks = 32
	percent := 0.0
	for b.Loop() {
		job := ranktest.Start(b, ranks+1, "parked")
		for _, r := range job.Ranks {
			r.Await(b, "waits")
		}
		time.Sleep(500 * time.Millisecond) // until the parks are long
		before, start := cpuTime(b, job.Ranks[:ranks]), time.Now()
		time.Sleep(*holdFor)
		percent = 100 * float64(cpuTime(b, job.Ranks[:ranks])-before) / float64(time.Since(start))
		job.Ranks[ranks].Signal(syscall.SIGUSR1)
		job.Wait()
	}
	b.ReportMetric(percent, "%cpu")
	b.ReportMetric(0, "ns/op")
}

// cpuTime is what the processes have used so far.
func cpuTime(t testing.TB, ranks []*ranktest.Rank) (sum time.Duration) {
	t.Helper()
	const allThreads = 2 // CPUCLOCK_SCHED of the process (clock_getcpuclockid)
	for _, r := range ranks {
		var ts unix.Timespec
		require.NoError(t, unix.ClockGettime(^int32(r.Pid())<<3|allThreads, &ts))
		sum += time.Duration(ts.Nano())
	}
	return sum
}

// parked is one process of BenchmarkParked; the last rank comes when told to.
func parked(ctx context.Context) error {
	next := make(chan os.Signal, 1)
	signal.Notify(next, syscall.SIGUSR1)
	w, err := symmem.Join(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	fmt.Println("waits")
	if w.Rank() == w.Size()-1 {
		<-next
	}
	return w.Team().Barrier(ctx)
}

// Time during which a process is stopped does not count as waiting, or a job
// that was suspended for lunch would be found stalled. What is told to Inspect
// plus the stop may not be more than has passed in all; a park that contains the
// stop may count twice its own length.
func TestStoppedTimeIsNotWaiting(t *testing.T) {
	const longestPark = 100 * time.Millisecond
	job := ranktest.Start(t, 1, "stopped")
	r := job.Ranks[0]
	r.Await(t, "waits")
	r.Stop(t)
	start := time.Now()
	time.Sleep(500 * time.Millisecond)
	stopped := time.Since(start)
	r.Signal(syscall.SIGCONT)
	r.Signal(syscall.SIGUSR1)
	job.Wait()
	var waited, passed time.Duration
	_, text, _ := strings.Cut(r.Output(), "waited ")
	_, err := fmt.Sscan(text, (*int64)(&waited), (*int64)(&passed))
	require.NoError(t, err, r.Output())
	require.LessOrEqual(t, waited+stopped, passed+2*longestPark, "waited %v, stopped %v, passed %v", waited, stopped, passed)
}

// stopped waits until it is told to end, which it is behind the stop.
func stopped(ctx context.Context) error {
	next := make(chan os.Signal, 1)
	signal.Notify(next, syscall.SIGUSR1)
	var n never
	start := time.Now()
	p := shmsync.Place{Bell: new(shmsync.Doorbell)}
	enough := errors.New("enough")
	told := false
	err := p.Wait(ctx, &n, inspector(func(waited time.Duration) error {
		if !told && waited > 100*time.Millisecond {
			told = true
			fmt.Println("waits") // in the long parks by now
		}
		if len(next) == 0 {
			return nil
		}
		fmt.Printf("waited %d %d\n", waited, time.Since(start))
		return enough
	}))
	if !errors.Is(err, enough) {
		return fmt.Errorf("ended otherwise: %w", err)
	}
	return nil
}

// inspector is an Overseer that only inspects.
type inspector func(time.Duration) error

func (i inspector) Over() bool                         { return false }
func (i inspector) Ended() error                       { return nil }
func (i inspector) Inspect(waited time.Duration) error { return i(waited) }
