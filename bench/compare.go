package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/symwin/symwin/internal/env"
	"golang.org/x/perf/benchmath"
)

// comparison holds two measurements against each other, row by row.
var comparison = &around{
	name: "compare", arguments: "A.json B.json",
	text:  "B's rows by A's: ratio and significance of each; --fail-over 10% fails for what got slower, or cannot be told",
	flags: []string{"fail-over"},
}

func init() { comparison.run = runCompare }

// rowKey is what two rows must have in common to be compared.
type rowKey struct {
	op, engine string
	ranks      int
	bytes      int64
	touch      string
	inPlace    bool
}

func (k rowKey) String() string {
	text := fmt.Sprintf("%s %s, %s", k.op, k.engine, count(k.ranks, "rank"))
	if k.bytes > 0 {
		text += ", " + env.FormatSize(k.bytes)
	}
	if k.touch != "" && k.touch != touchNone {
		text += ", touch " + k.touch
	}
	if k.inPlace {
		text += ", in place"
	}
	return text
}

// sampled is all that a file has of one row: several runs in one file count as one
// with more repetitions.
type sampled struct {
	p50    []float64 // of repetitions
	states []string
	bare   bool // a file of before there were repetitions in it
}

// byKey sorts rows, keys in the order of the file.
func (r *recording) byKey() (keys []rowKey, of map[rowKey]*sampled) {
	of = map[rowKey]*sampled{}
	for _, row := range r.rows {
		if strings.HasPrefix(row.Engine, copying+" ") { // which loop was the best is a finding, and no part of the question
			row.Engine = copying
		}
		k := rowKey{row.Op, row.Engine, row.Ranks, row.Bytes, row.Touch, row.InPlace}
		if of[k] == nil {
			keys, of[k] = append(keys, k), &sampled{}
		}
		s := of[k]
		s.states = append(s.states, row.State)
		each := row.Each
		if len(each) == 0 {
			each, s.bare = []figure{row.P50}, true
		}
		for _, p50 := range each {
			if p50.ok() && p50 > 0 {
				s.p50 = append(s.p50, float64(p50))
			}
		}
	}
	return keys, of
}

// state is the one in which all of it was measured, 0 where there is none; ok says
// whether it is one.
func (s *sampled) state() (at placement, ok bool) {
	for _, text := range s.states {
		var ns float64
		if text == moved {
			return 0, false
		}
		if text != "-" {
			if _, err := fmt.Sscanf(text, "%fns", &ns); err != nil {
				return 0, false
			}
		}
		if at == 0 {
			at = placement(ns)
		}
		if !steady(at, placement(ns)) {
			return 0, false
		}
	}
	return at, true
}

// The verdicts on a row.
const (
	faster     = "faster"
	slower     = "SLOWER"
	alike      = "~"
	otherState = "other state"
)

// verdict compares two samples of one row: the ratio of their medians, B's by A's,
// the probability that chance alone makes such a difference (Mann and Whitney's
// test, which asks nothing of how times are distributed), and what that means.
func verdict(a, b *sampled) (ratio, p float64, is string) {
	if len(a.p50) == 0 || len(b.p50) == 0 {
		return math.NaN(), 1, "no figures"
	}
	x := benchmath.NewSample(slices.Clone(a.p50), &benchmath.DefaultThresholds)
	y := benchmath.NewSample(slices.Clone(b.p50), &benchmath.DefaultThresholds)
	test := benchmath.AssumeNothing
	ratio = test.Summary(y, 0.95).Center / test.Summary(x, 0.95).Center
	c := test.Compare(x, y)
	stateA, okA := a.state()
	stateB, okB := b.state()
	switch {
	case !okA || !okB || !steady(stateA, stateB):
		return ratio, c.P, otherState
	case c.P > c.Alpha || ratio == 1:
		return ratio, c.P, alike
	case ratio > 1:
		return ratio, c.P, slower
	}
	return ratio, c.P, faster
}

// runCompare is the command.
func runCompare(_ context.Context, q *request, _ []string, stdout, stderr io.Writer, _ opener) int {
	if len(q.words) != 3 {
		return usage(stderr, fmt.Errorf("compare takes two files of rows, A.json and B.json, not %d", len(q.words)-1))
	}
	var files [2]*recording
	for k, name := range q.words[1:] {
		var err error
		if files[k], err = readBack(name); err != nil {
			return usage(stderr, err)
		}
	}
	a, b := files[0], files[1]
	w := &tally{w: stdout}
	for _, difference := range differences(a, b) {
		w.printf("# !! %s\n", difference)
	}
	w.printf("# A: %s: %s\n# B: %s: %s\n", a.name, a.metas[0].Command, b.name, b.metas[0].Command)
	keysA, ofA := a.byKey()
	keysB, ofB := b.byKey()
	both := slices.DeleteFunc(slices.Clone(keysA), func(k rowKey) bool { return ofB[k] == nil })
	if len(both) == 0 {
		return usage(stderr, fmt.Errorf("%s and %s have no row in common", a.name, b.name))
	}
	w.printf("# p50 in µs, medians of repetitions; p: how likely chance alone is (Mann-Whitney)\n#\n")
	const form = "%-48s %9s %9s %7s %8s %s\n"
	w.printf("#"+form, strings.Repeat(" ", 47), "A", "B", "B÷A", "p, n", "")
	worst, elsewhere, few, untold, blank := []string{}, 0, 0, 0, 0
	for _, k := range both {
		x, y := ofA[k], ofB[k]
		ratio, p, is := verdict(x, y)
		switch {
		case is == otherState:
			elsewhere++
			is += ", " + x.where() + " and " + y.where()
		case is == slower && q.failOver > 0 && 100*(ratio-1) > q.failOver:
			worst = append(worst, fmt.Sprintf("%v (%+.1f%%)", k, 100*(ratio-1)))
		case math.IsNaN(ratio):
			blank++
		case is == alike && (len(x.p50) < fewestSamples || len(y.p50) < fewestSamples):
			if few++; k.op != limits.name {
				untold++
			}
		}
		w.printf(form, k, middle(x.p50), middle(y.p50), fmt.Sprintf("%.2f", ratio), fmt.Sprintf("%.3f %d+%d", p, len(x.p50), len(y.p50)), is)
	}
	vanished := w.only("A", keysA, ofB)
	w.only("B", keysB, ofA)
	if elsewhere > 0 {
		w.printf("# !! %s measured in different states of the machine: not judged\n", count(elsewhere, "row"))
	}
	if few > 0 {
		w.printf("# !! %s with fewer than %d repetitions, with which nothing is significant: raise --reps, or measure several times into one file\n", count(few, "row"), fewestSamples)
	}
	if w.err != nil {
		return broken(stderr, w.err)
	}
	if q.failOver == 0 {
		return 0
	}
	// Who cannot tell must not let pass. Of limits, which are the machine's and not
	// ours, some are measured once, and no row is missed.
	var why []error
	fail := func(rows int, format string, args ...any) {
		if rows > 0 {
			why = append(why, fmt.Errorf("%s %s", count(rows, "row"), fmt.Sprintf(format, args...)))
		}
	}
	fail(len(worst), "slower by more than %g%%: %s", q.failOver, strings.Join(worst, "; "))
	fail(len(vanished), "of A not in B: %s", strings.Join(vanished, "; "))
	fail(blank, "without figures")
	fail(untold, "with fewer than %d repetitions: nothing can be told of them", fewestSamples)
	if elsewhere == len(both) {
		fail(elsewhere, "measured, all in different states of the machine: nothing can be told")
	}
	if len(why) > 0 {
		return broken(stderr, errors.Join(why...))
	}
	return 0
}

// fewestSamples are so many of each that a difference can be significant: of 4 and
// 4 the rarest order has a probability of 1 in 35.
const fewestSamples = 4

// differences are what makes figures of two files hard to compare.
func differences(a, b *recording) (list []string) {
	x, y := a.metas[0], b.metas[0]
	for _, d := range []struct{ what, a, b string }{
		{"machines", x.Host, y.Host}, {"CPUs", x.CPU, y.CPU}, {"kernels", x.Kernel, y.Kernel}, {"Go", x.Go, y.Go}, {"bindings", x.Bind, y.Bind},
	} {
		if d.a != d.b {
			list = append(list, fmt.Sprintf("different %s: %s | %s", d.what, d.a, d.b))
		}
	}
	if sa, sb := stateRange(a.rows), stateRange(b.rows); sa != sb {
		list = append(list, fmt.Sprintf("A in %s, B in %s", sa, sb))
	}
	return list
}

// where is the states of a sample.
func (s *sampled) where() string {
	states := slices.Clone(s.states)
	slices.Sort(states)
	return strings.Join(slices.Compact(states), "/")
}

func middle(p50 []float64) string {
	if len(p50) == 0 {
		return none().String()
	}
	return figure(benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(p50), &benchmath.DefaultThresholds), 0.95).Center).String()
}

// tally writes until it cannot.
type tally struct {
	w   io.Writer
	err error
}

func (t *tally) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// only lists the keys that the other file has not, and returns those that are ours.
func (t *tally) only(file string, keys []rowKey, other map[rowKey]*sampled) (ours []string) {
	for _, k := range keys {
		if other[k] != nil {
			continue
		}
		t.printf("# only in %s: %v\n", file, k)
		if k.op != limits.name {
			ours = append(ours, k.String())
		}
	}
	return ours
}
