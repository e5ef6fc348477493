package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/symwin/symwin/internal/topo"
)

// placement is how far apart two CPUs are at one moment: half a round trip of
// one line in each direction, in ns; 0: there is one rank or one CPU only. Where
// a hypervisor moves virtual CPUs about, it changes several-fold within seconds,
// and figures can be compared only where it is the same.
type placement float64

func (p placement) String() string {
	if p == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0fns", float64(p))
}

// moved is the state of a row during which the placement would not settle.
const moved = "moved"

// sameState bounds the ratio of two half round trips in one state: states differ
// by 2 and more, repeats in one of them by a sixth.
const sameState = 1.4

// steady reports whether two looks saw the same state.
func steady(a, b placement) bool {
	if a == 0 || b == 0 {
		return a == b
	}
	return math.Abs(math.Log(float64(a/b))) < math.Log(sameState)
}

// probeBudget is how long one look at the placement takes.
const probeBudget = 4 * time.Millisecond

// look probes the placement.
func (c *crew) look(ctx context.Context) (placement, error) {
	cpus, ok := c.twoCPUs()
	if !ok {
		return 0, nil
	}
	if c.probe == nil {
		probe, err := c.open(ctx, idProbe, task{Op: twoLines, CPUs: cpus})
		if err != nil {
			return 0, err
		}
		c.probe = probe
	}
	s, err := c.probe.measure(ctx, point{Shortest: minBlock, Budget: probeBudget})
	if err != nil {
		return 0, err
	}
	return placement(1e3 * summarize([]slice{s}).P50), nil
}

// lookouts is j with no more ranks than it takes to look at the placement, for
// what is not measured by ranks.
func (j *job) lookouts() *job {
	two := *j
	two.Ranks, two.Plan = 2, nil
	two.options.N, two.options.BindTo = 2, topo.None // they bind themselves
	return &two
}

// median is the middle one of the looks behind the repetitions.
func median(kept []repetition) placement {
	var looks []placement
	for _, r := range kept {
		looks = append(looks, r.after)
	}
	slices.Sort(looks)
	return quantile(looks, 0.5)
}
