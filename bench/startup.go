package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

var startup = &op{
	name: "startup",
	text: "the launcher starts \"true\" on all ranks and sees them end: whole processes",
	osu:  "osu_init",
	ways: []way{{engine: "auto"}},
	own:  func(j *job) subject { return starts(j.launchTrue) },
	bare: func(j *job) subject { return starts(j.forkTrue) },
}

// bareName is startup's limit: as many processes, started one after the other and
// then waited for.
const bareName = "fork+exec"

// starts is a subject of which each operation, and each block, is one start.
type starts func(ctx context.Context) error

// fewestStarts is how often something is started in a repetition.
const fewestStarts = 4

func (start starts) measure(ctx context.Context, p point) (s slice, err error) {
	s.Ops = 1
	begin := time.Now()
	for {
		before := time.Since(begin)
		if p.Iters == 0 && len(s.Blocks) >= fewestStarts && before > p.Budget || p.Iters > 0 && len(s.Blocks) == p.Iters {
			return s, nil
		}
		if err := start(ctx); err != nil {
			return s, err
		}
		s.Blocks = append(s.Blocks, time.Since(begin)-before)
	}
}

func (j *job) launchTrue(ctx context.Context) error {
	args := []string{"-n", strconv.Itoa(j.Ranks)}
	if j.options.BindTo != "" {
		args = append(args, "--bind-to", string(j.options.BindTo))
	}
	out, err := exec.CommandContext(ctx, "/proc/self/exe", append(args, "--", "true")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("starting %d ranks: %w: %s", j.Ranks, err, out)
	}
	return nil
}

func (j *job) forkTrue(ctx context.Context) error {
	path, err := exec.LookPath("true")
	if err != nil {
		return err
	}
	all := make([]*os.Process, j.Ranks)
	for k := range all {
		if all[k], err = os.StartProcess(path, []string{"true"}, &os.ProcAttr{}); err != nil {
			return err
		}
	}
	for _, p := range all {
		if _, err := p.Wait(); err != nil {
			return err
		}
	}
	return nil
}
