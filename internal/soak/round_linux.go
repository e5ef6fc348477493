package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/symwin/symwin/internal/env"
)

// watchdog is after how long without an end a round hangs. It judges no speed.
const watchdog = 30 * time.Second

// outcome is what became of a round.
type outcome struct {
	took     time.Duration
	failures []string
	hung     bool
	left     string // over, at the end
	wrong    int    // bytes
	reached  bool   // the fault came about

	// disturbed: the machine, or somebody who stops processes, kept this one from
	// running for longer than it takes to notice a death. Its times say nothing.
	disturbed bool

	deaths    int
	stops     int
	written   string          // by the ranks
	detection []time.Duration // one per survivor: from the first death to the return of its call
	ending    time.Duration   // from the launcher's death to the end of the last process
}

func (o *outcome) fail(format string, args ...any) {
	o.failures = append(o.failures, fmt.Sprintf(format, args...))
}

// job is a round under way.
type job struct {
	plan
	dir  string
	cmds []*exec.Cmd // the ranks, or the launcher

	mu     sync.Mutex
	change *sync.Cond
	events []event
	over   bool // all processes have ended

	first int64 // when the fault began, on the clock of events; 0: not yet
	hit   []int // the ranks that were killed from outside
	stops int
}

// run runs one round.
func (f *field) run(p plan) (o outcome) {
	start := time.Now()
	j := &job{plan: p, dir: f.dir}
	j.change = sync.NewCond(&j.mu)
	if p.Fault == full {
		j.dir = f.small
	}
	os.Setenv(env.KeyShmDir, j.dir)
	out, errs, err := j.start()
	if err != nil {
		o.fail("start: %v", err)
		return o
	}
	var readers sync.WaitGroup
	readers.Go(func() { j.listen(out) })
	var stderr []byte
	readers.Go(func() {
		stderr, _ = io.ReadAll(io.LimitReader(errs, 256<<10))
		_, _ = io.Copy(io.Discard, errs)
	})
	alarm := watch(func() {
		o.hung = true
		j.shake()
	})
	var ends sync.WaitGroup
	for _, c := range j.cmds {
		ends.Go(func() { _ = c.Wait() })
	}
	go func() {
		ends.Wait()
		j.mu.Lock()
		j.over = true
		j.mu.Unlock()
		j.change.Broadcast()
	}()
	j.fault()
	ends.Wait()
	if p.Fault == launcher {
		for len(marked()) > 0 && time.Since(start) < watchdog {
			time.Sleep(200 * time.Microsecond)
		}
		o.ending = time.Duration(now() - j.first)
	}
	readers.Wait() // whoever had the pipes has ended
	o.disturbed = alarm.stop()
	out.Close()
	errs.Close()
	o.stops = j.stops
	o.written = j.transcript(stderr)
	j.judge(&o)
	if o.left = f.cleared(p.mayLeaveName()); o.left != "" {
		o.fail("left over: %s", o.left)
		for _, p := range marked() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	o.took = time.Since(start)
	return o
}

// watcher ends a round that hangs. It counts the time in which it runs itself:
// where everything was stopped from outside, nothing hangs.
type watcher struct {
	quit, done chan struct{}
	disturbed  bool
}

func watch(hangs func()) *watcher {
	w := &watcher{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		const tick = 20 * time.Millisecond
		ticks := time.NewTicker(tick)
		defer ticks.Stop()
		last := time.Now()
		for ran := time.Duration(0); ; ran += tick {
			select {
			case <-w.quit:
				return
			case <-ticks.C:
			}
			w.disturbed = w.disturbed || time.Since(last) > 10*tick
			last = time.Now()
			if ran > watchdog {
				hangs()
				ran = 0
			}
		}
	}()
	return w
}

func (w *watcher) stop() (disturbed bool) {
	close(w.quit)
	<-w.done
	return w.disturbed
}

// start starts the processes; both pipes end with the last of them.
func (j *job) start() (out, errs *os.File, err error) {
	out, outs, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer outs.Close()
	errs, errsw, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer errsw.Close()
	text, _ := json.Marshal(j.plan)
	common := append(os.Environ(), planVar+"="+string(text), env.KeyBacking+"="+j.Backing, env.KeyLiveness+"="+j.Liveness,
		env.KeyWindow+"="+strconv.Itoa(windowBytes), env.KeyJoinTimeout+"="+j.patience(), env.KeyStall+"="+j.stall(), env.KeyStallReport+"=0")
	add := func(role string, more ...string) error {
		c := exec.Command("/proc/self/exe")
		c.Env = append(append(common[:len(common):len(common)], roleVar+"="+role), more...)
		c.Stdout, c.Stderr = outs, errsw
		// All end with the campaign, whose thread this is to its end.
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			return err
		}
		j.cmds = append(j.cmds, c)
		return nil
	}
	if j.Hosted {
		return out, errs, add("launcher")
	}
	name := fmt.Sprintf("soak-%d-%d", os.Getpid(), j.Round)
	for r := range j.Ranks {
		if err := add("rank", env.KeyJob+"="+name, env.KeyRank+"="+strconv.Itoa(r), env.KeySize+"="+strconv.Itoa(j.Ranks)); err != nil {
			return out, errs, err
		}
	}
	return out, errs, nil
}

// patience is how long ranks wait for others that never come.
func (j *job) patience() string {
	if j.Fault == joining || j.Fault == pointed && once(j.Point) {
		return "1s"
	}
	return "20s"
}

// stall bounds waits for what garbage has made impossible.
func (j *job) stall() string {
	if j.spoils() {
		return "1s"
	}
	return "20s"
}

// listen reads what the ranks tell.
func (j *job) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e = event{Rank: -1, What: "noise", Text: lines.Text()}
		}
		j.mu.Lock()
		j.events = append(j.events, e)
		if e.What == "stopping" {
			j.stops++
		}
		if (e.What == "dying" || e.What == "stopping" || e.What == "spoiling") && (j.first == 0 || e.At < j.first) {
			j.first = e.At
		}
		j.mu.Unlock()
		j.change.Broadcast()
	}
}

// await waits until so many different ranks have told something, or the job is
// over, and reports the former.
func (j *job) await(what string, ranks int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		have := map[int]bool{}
		for _, e := range j.events {
			if e.What == what {
				have[e.Rank] = true
			}
		}
		if len(have) >= ranks {
			return true
		}
		if j.over {
			return false
		}
		j.change.Wait()
	}
}

// ended reports whether all processes have.
func (j *job) ended() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.over
}

// begin notes when the fault began.
func (j *job) begin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.first == 0 {
		j.first = now()
	}
}

// shake ends what hangs, after it has told where.
func (j *job) shake() {
	all := marked()
	for _, s := range []syscall.Signal{syscall.SIGCONT, syscall.SIGQUIT, syscall.SIGKILL} {
		for _, p := range all {
			_ = syscall.Kill(p.pid, s)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

func (j *job) transcript(stderr []byte) string {
	text := ""
	first := int64(0)
	for _, e := range j.events {
		if first == 0 {
			first = e.At
		}
		text += fmt.Sprintf("  %8.3f ms rank %d %s %s %v %s\n", float64(e.At-first)/1e6, e.Rank, e.What, e.Class, e.Ranks, e.Text)
	}
	if j.first != 0 {
		text += fmt.Sprintf("  %8.3f ms the fault\n", float64(j.first-first)/1e6)
	}
	return text + string(stderr)
}

// of returns the events of a kind of one rank.
func (j *job) of(rank int, what string) []event {
	return slices.DeleteFunc(slices.Clone(j.events), func(e event) bool { return e.Rank != rank || e.What != what })
}
