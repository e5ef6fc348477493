package bench

import (
	"fmt"
	"io"
)

// limits is what every other figure is to be compared with. The ranks move from
// CPU to CPU by themselves. A row's engine says what was measured.
var limits = &op{
	name: "limits",
	text: "what the machine itself can do: exchanges, hand-offs, copies, the clock",
	ways: []way{{engine: "auto", memory: twice}},
	low:  4 << 10, high: 64 << 20, factor: 4,
	least:  2,
	trials: limitTrials,
}

func limitTrials(j *job) (rows []trial) {
	add := func(engine string, ranks int, bytes int64, t task) {
		t.Check, t.Warmup, t.Bytes, t.Ranks = j.check, j.warmup, bytes, ranks
		rows = append(rows, trial{row: Row{Op: j.op.name, Engine: engine, Ranks: ranks, Bytes: bytes}, task: t})
	}
	for i, a := range j.CPUs {
		for _, b := range j.CPUs[i+1:] {
			add(pairName(a, b), 2, 8, task{Op: twoLines, CPUs: []int{a, b}})
			rows[len(rows)-1].quick = len(j.CPUs) > fewCPUs
		}
	}
	if cpus, ok := j.twoCPUs(); ok {
		add(oneLine, 2, 8, task{Op: oneLine, CPUs: cpus})
	}
	one := []int{j.CPUs[0], j.CPUs[0]}
	add(yielding, 2, 8, task{Op: yielding, CPUs: one})
	add(sleeping, 2, 8, task{Op: sleeping, CPUs: one})
	add(clock, 1, 0, task{Op: clock})
	all := min(j.Ranks, len(j.CPUs))
	for _, bytes := range j.sizes {
		add(copying, 1, bytes, task{Op: copying})
		if all > 1 {
			add(copying, all, bytes, task{Op: copying})
		}
	}
	return rows
}

// fewCPUs are so few that each pair is worth a row like any other. 64 CPUs are
// 2016 pairs.
const fewCPUs = 4

func pairName(a, b int) string { return fmt.Sprintf("%s %d-%d", twoLines, a, b) }

// matrix is half a round trip between any two CPUs in ns, by the rows of limits.
func matrix(w io.Writer, cpus []int, p50 map[string]figure) error {
	text := fmt.Sprintf("%s, ns", twoLines)
	for _, b := range cpus {
		text += fmt.Sprintf("%6d", b)
	}
	if err := comment(w, "%s", text); err != nil {
		return err
	}
	for _, a := range cpus {
		text := fmt.Sprintf("%*d", len(twoLines+", ns"), a)
		for _, b := range cpus {
			cell := none()
			if us, ok := p50[pairName(min(a, b), max(a, b))]; ok {
				cell = 1e3 * us
			}
			text += fmt.Sprintf("%6v", cell)
		}
		if _, err := fmt.Fprintf(w, "# %s\n", text); err != nil {
			return err
		}
	}
	return nil
}
