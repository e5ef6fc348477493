package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/symwin/symwin/symmem"
)

// How long a job that is lost gets for each step of its end. Ranks in a symwin
// call hear of a loss within a millisecond; the grace is for what they do then:
// writing their error, deferred clean-up, the stacks of a SIGQUIT.
const (
	grace     = time.Second
	graceTERM = 2 * time.Second
)

// A rank that is asked by SIGQUIT where it hangs gets so long to write its stacks
// before the next one is asked, and all together so long.
const (
	graceQUIT    = 200 * time.Millisecond
	graceQUITAll = 5 * time.Second
)

// rung is one step of the way down: after so long, this signal to this rank and
// what it started.
type rung struct {
	after  time.Duration
	signal syscall.Signal
	rank   int // or everybody
}

const everybody = -1

// supervisor watches one job between the start of its ranks and the end of the
// last. One goroutine does everything.
type supervisor struct {
	*job
	clock  stopwatch
	ladder []rung // what is still to be done to end the job; nil: it is not being ended
	asked  int    // the rank of the last rung

	ends  []end
	over  []bool // which ranks have ended
	order []int  // and in which order that was seen
	left  int
	told  bool // the region knows of a rank that exited before joining

	// The first thing that went wrong decides the exit code.
	scene     *scene // a rank ended badly
	ruling    string // or the launcher decided itself: time-out, second signal, cancelled
	rulingEnd int    // with this exit code
	before    string // what the ranks were doing then
	account   []string

	// Signals passed on that are meant to end things: how often each came, and
	// when last.
	forwarded map[syscall.Signal]int
	latest    map[syscall.Signal]time.Time
}

// supervise forwards signals, ends the job when a rank ends badly, when its time
// is over, when ctx is done or at a second SIGINT or SIGTERM, and returns when all ranks have
// ended. startErr is why not all were started.
func (j *job) supervise(ctx context.Context, endings <-chan ended, signals <-chan os.Signal, startErr error) Result {
	s := &supervisor{job: j, ends: make([]end, j.N), over: make([]bool, j.N), left: len(j.ranks),
		forwarded: map[syscall.Signal]int{}, latest: map[syscall.Signal]time.Time{}}
	s.clock.set(j.Timeout)
	if startErr != nil {
		s.kill(syscall.SIGKILL)
		s.ladder = []rung{}
	}
	done := ctx.Done()
	for s.left > 0 {
		select {
		case e, open := <-endings:
			if !open {
				panic("launch: fewer ends than ranks")
			}
			s.rankEnded(e)
		case sig := <-signals:
			s.signalled(sig.(syscall.Signal))
		case <-s.clock.C():
			s.timeUp()
		case <-done:
			done = nil
			s.rule(exitSignal+int(syscall.SIGTERM), fmt.Sprintf("cancelled (%v)", context.Cause(ctx)))
			s.descend(rung{0, syscall.SIGTERM, everybody}, rung{graceTERM, syscall.SIGKILL, everybody})
		}
	}
	s.clock.set(0)
	// The ranks are gone; what they left in their groups goes too.
	s.kill(syscall.SIGKILL)
	result := s.result(startErr)
	if err := j.clear(); err != nil && result.ExitCode == 0 {
		result.ExitCode, result.Verdict = 1, join(fmt.Sprintf("output of ranks is lost: %v", err), result.Verdict)
	}
	if result.Verdict != "" {
		j.say("%s", result.Verdict)
	}
	for _, line := range result.Account {
		j.say("  %s", line)
	}
	if r := result.Rank; r >= 0 && j.OutputDir != "" {
		j.say("rank %d wrote %s and %s", r, outputFile(j.OutputDir, r, j.N, "out"), outputFile(j.OutputDir, r, j.N, "err"))
	}
	return result
}

// clear buries the dead. Until here they were zombies and held their numbers. The
// error is why output of theirs is lost.
func (j *job) clear() error {
	j.guardian.Watch(0)
	for _, p := range j.ranks {
		_, _ = syscall.Wait4(p.pid, nil, 0, nil)
		_ = syscall.Close(p.pidfd)
	}
	return j.outputs.finish()
}

func (s *supervisor) rankEnded(e ended) {
	s.left--
	s.ends[e.rank], s.over[e.rank] = e.end, true
	s.order = append(s.order, e.rank)
	if s.Verbose {
		s.say("rank %d %v", e.rank, e.end)
	}
	if len(s.ladder) > 0 && s.asked == e.rank && s.ladder[0].rank != everybody {
		s.ladder[0].after = 0 // it has said what it had to say
		s.step()
	}
	switch {
	case s.scene != nil || s.ruling != "":
		// Why the job ends is settled.
	case e.end.bad():
		s.scene = &scene{first: e.rank, before: s.host.Observe(), early: append([]bool(nil), s.over...)}
		s.host.Lost(e.rank, e.end.String())
		wait := time.Duration(0)
		if s.scene.joined() {
			wait = grace
		}
		s.descend(rung{wait, syscall.SIGTERM, everybody}, rung{graceTERM, syscall.SIGKILL, everybody})
	case !s.told && s.host.Life(e.rank) == symmem.NotCome:
		// Without this rank no Join can succeed, so whoever waits there, or
		// will, is told now. A program that is none of symwin's does not ask.
		s.told = true
		s.host.Lost(e.rank, e.end.String()+" before joining")
	}
}

// descend begins to end the job; a shorter way down replaces a longer one.
func (s *supervisor) descend(ladder ...rung) {
	s.ladder = ladder
	s.step()
}

// step takes all rungs that are due and sets the clock for the next.
func (s *supervisor) step() {
	for len(s.ladder) > 0 && s.ladder[0].after == 0 {
		if s.ladder[0].signal == syscall.SIGTERM && s.ruling != "" {
			// Not before: a rank that SIGQUIT asks where it hangs must not
			// be told to leave. Whoever outlives SIGTERM must.
			s.host.Abort(s.ruling)
		}
		s.asked = s.ladder[0].rank
		if s.asked == everybody {
			s.kill(s.ladder[0].signal)
		} else {
			s.signal(s.asked, s.ladder[0].signal)
		}
		s.ladder = s.ladder[1:]
	}
	if len(s.ladder) > 0 {
		s.clock.set(s.ladder[0].after)
	} else {
		s.clock.set(0)
	}
}

// rule ends the job by the launcher's own decision, unless something went wrong
// before.
func (s *supervisor) rule(code int, why string) {
	if s.scene != nil || s.ruling != "" {
		return
	}
	snapshot := s.host.Observe()
	s.ruling, s.rulingEnd = why, code
	if (&scene{before: snapshot}).joined() {
		s.before, s.account = doing(snapshot, s.over, -1), Account(snapshot)
	}
}

func (s *supervisor) timeUp() {
	if s.ladder != nil {
		if len(s.ladder) > 0 {
			s.ladder[0].after = 0
		}
		s.step()
		return
	}
	s.rule(exitTimeout, fmt.Sprintf("timed out after %v (--timeout)", s.Timeout))
	s.interrogate()
}

// interrogate ends the job, but asks each rank first where it hangs: one after
// the other, or their stacks would be one heap. Until its turn a rank is stopped:
// it would hear that the one before has ended, and leave without an answer.
func (s *supervisor) interrogate() {
	s.kill(syscall.SIGSTOP)
	var ladder []rung
	for rank, over := range s.over {
		if !over {
			ladder = append(ladder, rung{min(graceQUIT, graceQUITAll/time.Duration(s.left)), syscall.SIGQUIT, rank})
		}
	}
	ladder[0].after = 0
	s.descend(append(ladder, rung{grace, syscall.SIGTERM, everybody}, rung{graceTERM, syscall.SIGKILL, everybody})...)
}

func (s *supervisor) signalled(sig syscall.Signal) {
	switch sig {
	case syscall.SIGPIPE: // whoever wrote has the error
	case syscall.SIGTSTP:
		// The time that follows belongs to nobody.
		s.kill(sig)
		s.clock.stop()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case syscall.SIGCONT:
		s.clock.resume()
		s.kill(sig)
		if s.input != nil {
			s.input.continued()
		}
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		n, told := s.count(sig)
		if told {
			return
		}
		if n > 1 && (sig == syscall.SIGINT || sig == syscall.SIGTERM) {
			s.rule(exitSignal+int(sig), "killed at the second "+signalName(sig))
			s.descend(rung{0, syscall.SIGKILL, everybody})
			return
		}
		s.kill(sig)
	default:
		s.kill(sig)
	}
}

// oneBlow is within what time two signals of a kind are one: timeout(1) sends
// its signal to the launcher and then to the group that the launcher is in.
const oneBlow = 100 * time.Millisecond

// count notes a signal and returns how often its kind has come, whatever came
// between, and whether this one is told already.
func (s *supervisor) count(sig syscall.Signal) (n int, told bool) {
	now := time.Now()
	told = s.forwarded[sig] > 0 && now.Sub(s.latest[sig]) < oneBlow
	if !told {
		s.forwarded[sig]++
		s.latest[sig] = now
	}
	return s.forwarded[sig], told
}

// explained is the forwarded signal by which a rank ended, or 0.
func (s *supervisor) explained(e end) syscall.Signal {
	for sig := range s.forwarded {
		if e.by(sig) {
			return sig
		}
	}
	return 0
}

// kill signals all ranks, and the dead too: what they started may live, and a
// zombie keeps the number of its group from being given away.
func (s *supervisor) kill(sig syscall.Signal) {
	for rank := range s.ranks {
		s.signal(rank, sig)
	}
}

// signal signals a rank's process group. What is to end it must also reach what
// is stopped.
func (s *supervisor) signal(rank int, sig syscall.Signal) {
	_ = syscall.Kill(-s.ranks[rank].pid, sig)
	if s.ladder != nil && (sig == syscall.SIGQUIT || sig == syscall.SIGTERM) {
		_ = syscall.Kill(-s.ranks[rank].pid, syscall.SIGCONT)
	}
}

// result says how it ended and why.
func (s *supervisor) result(startErr error) Result {
	if startErr != nil {
		code := 1
		if e := (*startError)(nil); errors.As(startErr, &e) {
			code = e.exitCode()
		}
		return Result{ExitCode: code, Verdict: told(startErr), Rank: -1}
	}
	if s.ruling != "" {
		return Result{ExitCode: s.rulingEnd, Verdict: join(s.ruling, s.before), Account: s.account, Rank: -1}
	}
	after := s.host.Observe()
	if s.scene == nil {
		return Result{Verdict: unclosed(after), Rank: -1}
	}
	if sig := s.explained(s.ends[s.scene.first]); sig != 0 {
		return Result{ExitCode: exitSignal + int(sig), Verdict: "ended by " + signalName(sig), Rank: s.scene.first}
	}
	s.scene.ends, s.scene.order, s.scene.abort = s.ends, s.order, after.Abort
	rank, code, how := s.scene.blame()
	var account []string
	if s.scene.joined() && !s.scene.orderly(rank) {
		how, account = join(how, doing(s.scene.before, s.scene.early, rank)), Account(s.scene.before)
	}
	return Result{ExitCode: code, Verdict: how, Account: account, Rank: rank}
}

// stopwatch is a timer that can be stopped and resumed.
type stopwatch struct {
	timer *time.Timer // nil: not running
	since time.Time
	left  time.Duration // 0: not set
}

// set lets it run out after d; 0 switches it off. One that is stopped starts
// again.
func (w *stopwatch) set(d time.Duration) {
	w.halt()
	w.left = d
	w.resume()
}

func (w *stopwatch) halt() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// stop keeps what is left of the time.
func (w *stopwatch) stop() {
	if w.timer != nil {
		w.left = max(w.left-time.Since(w.since), 1)
		w.halt()
	}
}

func (w *stopwatch) resume() {
	if w.timer == nil && w.left > 0 {
		w.since, w.timer = time.Now(), time.NewTimer(w.left)
	}
}

// C fires when the time is over; never if the watch is off or stopped.
func (w *stopwatch) C() <-chan time.Time {
	if w.timer == nil {
		return nil
	}
	return w.timer.C
}
