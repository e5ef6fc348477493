package bench

import (
	"fmt"
	"io"
	"runtime"
	"strings"
)

// gobench is what "go test -bench" prints, a line for each repetition: benchstat
// reads it ("benchstat -col /by FILE" puts symwin beside its peers). Six
// repetitions are the fewest that it takes an interval of.
type gobench struct {
	w     io.Writer
	job   *job
	peers []string

	failed failures
}

func newGobench(w io.Writer, j *job, m Meta) (output, error) {
	if err := header(w, j, m); err != nil {
		return nil, err
	}
	_, err := fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: github.com/symwin/symwin/bench\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, m.CPU)
	return &gobench{w: w, job: j, peers: j.peers, failed: failures{}}, err
}

func (g *gobench) row(r Row) error {
	if err := g.failed.tell(g.w, g.peers, r); err != nil {
		return err
	}
	what := fmt.Sprintf("%s, %s", r.Op, count(r.Ranks, "rank"))
	if len(g.job.sizes) > 0 {
		what += fmt.Sprintf(", %d bytes", r.Bytes)
	}
	beside := g.peers
	if r.State == moved { // benchstat would divide them
		beside = nil
		if err := comment(g.w, "%s: the placement of the CPUs would not settle (state %s): no peers beside it, and nothing to compare it with", what, moved); err != nil {
			return err
		}
	}
	if r.Wrong != nil && *r.Wrong > 0 {
		if err := comment(g.w, "%s: #wrong: %d bytes arrived wrong", what, *r.Wrong); err != nil {
			return err
		}
	}
	err := g.lines(r, "symwin-"+r.Engine, r.Each, r.Iters)
	for _, name := range beside {
		if p := r.peer(name); err == nil && p.P50.ok() {
			err = g.lines(r, name, p.each, p.iters)
		}
	}
	return err
}

func (g *gobench) lines(r Row, by string, each []figure, iters int) error {
	name := "Benchmark" + strings.ToUpper(r.Op[:1]) + r.Op[1:] + fmt.Sprintf("/ranks=%d", r.Ranks)
	if len(g.job.sizes) > 0 {
		name += fmt.Sprintf("/bytes=%d", r.Bytes)
	}
	name += "/by=" + strings.ReplaceAll(by, " ", "_")
	for _, p50 := range each {
		if !p50.ok() {
			continue
		}
		rate := ""
		if total := g.job.op.total; total != nil {
			rate = fmt.Sprintf("\t%10.4f GB/s", float64(total(r.Ranks, r.Bytes))/float64(p50)/1e3)
		}
		if _, err := fmt.Fprintf(g.w, "%-64s\t%10d\t%14.2f ns/op%s\n", name, iters/len(each), 1e3*float64(p50), rate); err != nil {
			return err
		}
	}
	return nil
}

func (g *gobench) tails(r Row, s tails) error { return comment(g.w, "%s", s.line(r)) }

func (g *gobench) end() error { return nil }
