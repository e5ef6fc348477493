package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/symwin/symwin/bench/peers"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/topo"
)

// tour measures what matters, a part after the other, each of which is a command
// that can be given alone. A part that fails is not there; the others are.
var tour = &around{
	name: "all",
	text: "the tour: all that matters, beside whichever peers are installed, and a report",
	flags: []string{"np", "ranks", "peer", "reps", "iters", "check", "quick", "out", "report",
		"bind-to", "window", "backing", "timeout", "stall", "stall-report"},
}

func init() { tour.run = runTour }

// defaultReport is where the tour's report goes.
const defaultReport = "symwin-report.html"

// The peers that can do something of a kind.
var (
	betweenTwo  = []string{"openmpi", "mpich", "ucx", "shmwin", "unix", "pipe"}
	oneSided    = []string{"openmpi", "mpich", "ucx", "shmwin"}
	inStreams   = []string{"openmpi", "mpich", "ucx", "unix", "pipe"}
	collectives = []string{"openmpi", "mpich", "shmwin"}
	launchers   = []string{"openmpi", "mpich"}
)

// mostRanks bounds how many ranks the tour lets share the CPUs.
const mostRanks = 128

// itinerary is the tour's commands, and by whom each can be done beside us.
type itinerary struct {
	beside []string // who is there
	quick  bool
	lines  [][]string
}

func (i *itinerary) add(can []string, format string, args ...any) {
	line := strings.Fields(fmt.Sprintf(format, args...))
	if they := slices.DeleteFunc(slices.Clone(i.beside), func(name string) bool { return !slices.Contains(can, name) }); len(they) > 0 {
		line = append(line, "--peer", strings.Join(they, ","))
	}
	i.lines = append(i.lines, line)
}

// plan is a tour of n ranks on that many CPUs.
func (i *itinerary) plan(n, cpus int) {
	factor := 8
	if i.quick {
		factor = 64
	}
	i.add(nil, "limits -b 4K -e %s -f 8", map[bool]string{false: "64M", true: "2M"}[i.quick])
	for _, touch := range []string{touchNone, touchFull} {
		if touch == touchNone || !i.quick {
			i.add(betweenTwo, "latency -n 2 -b 8 -e 1M -f %d --touch %s", factor, touch)
			i.engines(latency, "-n 2 -b 8 -f %d --touch %s", factor, touch)
		}
	}
	i.add(inStreams, "bw -n 2 -b 64 -e 1M -f %d", factor)
	if !i.quick {
		i.add(oneSided, "put -n 2 -b 8 -e 64K -f 8")
		i.add(launchers, "rate -n 2 -b 8 -e 256 -f 4")
	}
	for _, touch := range []string{touchNone, touchFull} {
		i.add(betweenTwo, "alltoall -n %d -b 8 -e 1M -f %d --touch %s", n, factor, touch)
		i.engines(allToAll, "-n %d -b 8 -f %d --touch %s", n, factor, touch)
	}
	for _, o := range []*op{allGather, broadcast, allReduce, gather, scatter, reduce, reduceScatter} {
		if !i.quick || o == allReduce || o == broadcast {
			i.add(collectives, "%s -n %d -b 8 -e 1M -f %d", o.name, n, 4*factor)
		}
	}
	crowds := []int{2 * cpus, 4 * cpus, 8 * cpus}
	if i.quick {
		crowds = []int{4 * cpus}
	}
	crowds = slices.DeleteFunc(crowds, func(ranks int) bool { return ranks > mostRanks || ranks <= n })
	i.add(collectives, "barrier -n %d", n)
	for _, ranks := range crowds {
		i.add(collectives, "barrier -n %d", ranks)
	}
	for _, o := range []*op{allToAll, allReduce} {
		if ranks := 4 * cpus; ranks <= mostRanks && !i.quick {
			i.add(collectives, "%s -n %d -b 8 -e 64K -f 32", o.name, ranks)
		}
	}
	i.add(launchers, "startup -n %d", n)
	if ranks := 8 * cpus; ranks <= mostRanks && ranks > n && !i.quick {
		i.add(launchers, "startup -n %d", ranks)
		i.add(nil, "wait -n %d", ranks)
	}
}

// engines adds the operation by each engine that may be named, as far as it goes.
func (i *itinerary) engines(o *op, format string, args ...any) {
	for _, w := range o.ways[1:] {
		if !i.quick {
			i.add(nil, "%s --engine %s "+format, append([]any{o.name, w.engine}, args...)...)
		}
	}
}

// runTour is the command.
func runTour(ctx context.Context, q *request, args []string, stdout, stderr io.Writer, open opener) int {
	if len(q.words) > 1 {
		return usage(stderr, fmt.Errorf("all is a command of its own: %q after it", q.words[1]))
	}
	machine, err := topo.Here()
	if err != nil {
		return broken(stderr, err)
	}
	q.report = cmp.Or(q.report, defaultReport)
	papers, err := q.papers("out", "report")
	if err != nil {
		return usage(stderr, err)
	}
	defer papers.discard()
	here, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onSignal(here, cancel)()

	i := &itinerary{quick: q.quick}
	var absent []string
	if i.beside, absent, err = q.neighbours(here, open); err != nil {
		return ending{err: err}.tell(stderr)
	}
	n := cmp.Or(q.launch.N, max(len(machine), 2))
	i.plan(n, len(machine))
	parts := q.parts(&i.lines)

	fmt.Fprintln(stdout, announcement(q, parts))
	fmt.Fprintf(stdout, "beside symwin: %s\n", list(i.beside))
	for _, why := range absent {
		fmt.Fprintln(stdout, why)
	}
	j := &job{request: q, op: &op{}}
	m := newMeta(j, args, nil)
	m.CPU, m.Bind = cpuModel(len(machine)), "by part: "+topo.FormatList(parts[0].job.CPUs)+" are usable"
	out := io.Discard
	if papers["out"] != nil {
		out = papers["out"]
	}
	if _, err := newJSON(out, m); err != nil {
		return broken(stderr, err)
	}

	var jobs []*job
	for _, p := range parts {
		jobs = append(jobs, p.job)
	}
	progress := newProgress(stderr, jobs...)
	exit := 0
	for k, p := range parts {
		line := i.lines[k]
		e := p.job.measure(here, line, stderr, open, progress, func(m Meta) (output, error) {
			p.meta = m
			rows, err := newJSON(out, m)
			return outputs{progress, rows, p}, err
		})
		if p.failed = e.text(); e.err != nil {
			fmt.Fprintf(stderr, "shmrun bench: %s: %v\n", p.job.op.name, e.err)
		}
		exit = max(exit, min(e.exit, exitFailed))
		if e.err != nil {
			exit = exitFailed
		}
		by := endedBy(0)
		ended := errors.As(context.Cause(here), &by)
		if ended {
			p.failed = by.Error()
		}
		fmt.Fprintln(stdout, p.headline())
		if ended {
			exit, parts = by.code(), parts[:k+1]
			break
		}
	}
	r := document(parts, time.Now())
	// What holds for the tour and not for its first part.
	r.Title = "symwin on " + m.Host
	for k := range r.Facts {
		switch r.Facts[k].Name {
		case "command":
			r.Facts[k].Text = m.Command
		case "binding":
			r.Facts[k].Text = m.Bind
		}
	}
	if err := errors.Join(papers.write("report", r.Write), papers.end("out")); err != nil {
		return max(exit, broken(stderr, err))
	}
	fmt.Fprintf(stdout, "report: %s\n", q.report)
	if q.file != "" {
		fmt.Fprintf(stdout, "rows: %s\n", q.file)
	}
	return exit
}

// parts are the lines as jobs, without those that cannot be done, such as an
// engine that is not for this touch. The lines that are left are theirs.
func (q *request) parts(lines *[][]string) (parts []*chapter) {
	inherited := []string{}
	for _, f := range q.given {
		if !slices.Contains([]string{"np", "ranks", "peer", "quick", "out", "report"}, f.name) {
			inherited = append(inherited, "--"+f.name+"="+f.text)
		}
	}
	var left [][]string
	for _, line := range *lines {
		line = append(line, inherited...)
		of, err := parse(line)
		if err != nil {
			continue
		}
		if j, err := of.job(); err == nil {
			parts, left = append(parts, &chapter{job: j}), append(left, line)
		}
	}
	*lines = left
	return parts
}

// neighbours are the peers that were asked for, or any: those that are there, and
// why others are not.
func (q *request) neighbours(ctx context.Context, open opener) (there, absent []string, err error) {
	asked := peers.Names
	if slices.ContainsFunc(q.given, func(f given) bool { return f.name == "peer" }) {
		asked = q.peers
	}
	for _, name := range asked {
		p, err := open(ctx, name, peers.Job{Op: latency.name, Ranks: 2, MaxBytes: 8, Timeout: peerTimeout})
		switch {
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case err != nil:
			absent = append(absent, err.Error())
		default:
			there = append(there, name)
			_ = p.Close()
		}
	}
	return there, absent, nil
}

// announcement says how long it takes.
func announcement(q *request, parts []*chapter) string {
	all, rows := time.Duration(0), 0
	for _, p := range parts {
		all += p.job.lasts()
		rows += len(p.job.trials())
	}
	what := fmt.Sprintf("%s, %s", count(len(parts), "part"), count(rows, "row"))
	if q.iters > 0 {
		return fmt.Sprintf("as long as %d operations a row and repetition take: %s", q.iters, what)
	}
	return fmt.Sprintf("about %s: %s", span(all), what)
}

// headline is a part in a line.
func (p *chapter) headline() string {
	text := p.job.op.name
	if about := p.job.circumstances(); about != "" {
		text += ", " + about
	}
	if p.job.engine != auto {
		text += ", " + p.job.engine
	}
	if p.job.op.trials == nil && len(p.rows) > 0 {
		for _, r := range slices.Compact([]*Row{&p.rows[0], &p.rows[len(p.rows)-1]}) {
			text += "; "
			if r.Bytes > 0 {
				text += env.FormatSize(r.Bytes) + ": "
			}
			text += r.P50.String() + " µs"
			for _, name := range p.job.peers {
				if ratio := r.peer(name).Ratio; ratio.ok() {
					text += fmt.Sprintf(", %s ×%.2f", name, float64(ratio))
				}
			}
		}
	}
	if p.failed != "" {
		text += "; " + p.failed
	}
	return text
}
