package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// tally adds the rounds up.
type tally struct {
	rounds, kills, stops, launchers, unreached, disturbed int
	failures, hangs, leaks, wrong                         int
	kinds                                                 map[fault]int
	detection                                             map[string][]time.Duration
	slowest                                               map[string]int // the round with the longest, by row
	endings                                               []time.Duration
}

func newTally() *tally {
	return &tally{kinds: map[fault]int{}, detection: map[string][]time.Duration{}, slowest: map[string]int{}}
}

// sizes are the rows of the detection table: what is promised depends on how
// many ranks share the CPUs.
func sizeClass(p plan) string {
	size := "12 and 16 ranks"
	switch {
	case p.Touched > 0:
		size = "a GiB touched"
	case p.Ranks <= 4:
		size = "2 to 4 ranks"
	case p.Ranks <= 8:
		size = "5 to 8 ranks"
	}
	if p.Liveness == "pidfd" {
		size += ", pidfd"
	}
	if p.How == "panic" {
		size += ", panic" // the time in which it writes its stacks counts
	}
	return size
}

func (t *tally) add(p plan, o outcome) {
	t.rounds++
	t.kinds[p.Fault]++
	t.kills += o.deaths
	t.stops += o.stops
	t.wrong += o.wrong
	if !o.reached {
		t.unreached++
	}
	if p.Fault == launcher {
		t.launchers++
	}
	if p.Fault == everyone {
		t.kills += p.Ranks
	}
	if o.hung {
		t.hangs++
	}
	if o.left != "" {
		t.leaks++
	}
	if len(o.failures) > 0 {
		t.failures++
	}
	if o.disturbed {
		t.disturbed++
		return
	}
	if p.Fault == launcher {
		t.endings = append(t.endings, o.ending)
	}
	if p.Fault != joining {
		row := sizeClass(p)
		if len(o.detection) > 0 && (len(t.detection[row]) == 0 || slices.Max(o.detection) > slices.Max(t.detection[row])) {
			t.slowest[row] = p.Round
		}
		t.detection[row] = append(t.detection[row], o.detection...)
	}
}

func (t *tally) bad() bool { return t.failures+t.hangs+t.leaks+t.wrong > 0 }

func (t *tally) print(out io.Writer, took time.Duration, seed uint64) {
	fmt.Fprintf(out, "soak: %d rounds in %v, seed %d: %d kills, %d stops, %d launchers killed; %d rounds ended before their fault, %d were disturbed and not timed\n",
		t.rounds, took.Round(time.Second), seed, t.kills, t.stops, t.launchers, t.unreached, t.disturbed)
	fmt.Fprint(out, "rounds: ")
	for i, s := range shares {
		if i > 0 {
			fmt.Fprint(out, ", ")
		}
		fmt.Fprintf(out, "%s %d", s.fault, t.kinds[s.fault])
	}
	fmt.Fprintln(out)
	fmt.Fprintf(out, "%-48s %8s %10s %10s %10s\n", "from a death to the return of a survivor's call", "survivors", "p50", "p99", "max")
	rows := make([]string, 0, len(t.detection))
	for row := range t.detection {
		rows = append(rows, row)
	}
	slices.Sort(rows)
	var all []time.Duration
	for _, row := range rows {
		printTimes(out, row, t.detection[row], fmt.Sprintf("  round %d", t.slowest[row]))
		all = append(all, t.detection[row]...)
	}
	printTimes(out, "all", all, "")
	printTimes(out, "launcher's death to the last process", t.endings, "")
	fmt.Fprintf(out, "hangs %d, leaks %d, wrong bytes %d, failed rounds %d\n", t.hangs, t.leaks, t.wrong, t.failures)
}

func printTimes(out io.Writer, row string, times []time.Duration, where string) {
	if len(times) == 0 {
		return
	}
	slices.Sort(times)
	at := func(q float64) time.Duration {
		return times[min(int(q*float64(len(times))), len(times)-1)].Round(time.Microsecond)
	}
	fmt.Fprintf(out, "  %-46s %8d %10v %10v %10v%s\n", row, len(times), at(0.5), at(0.99), times[len(times)-1].Round(time.Microsecond), where)
}
