package symwin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every operation has a row for every number of ranks, and its own on a processor that
// has one: the first row with enough ranks counts.
func TestCrossoversOfEveryProcessor(t *testing.T) {
	own := map[int][]crossover{0: nil, 25: crossoversAMD, 26: crossoversZen5}
	for amd, rows := range own {
		table := crossoversOf(amd)
		row := func(c crossover, ranks int) crossover {
			i := slices.IndexFunc(table, func(r crossover) bool { return r.op == c.op && ranks <= r.ranks })
			require.GreaterOrEqual(t, i, 0, "%v of %d", c.op, ranks)
			return table[i]
		}
		for _, c := range crossoversOfAll {
			row(c, many)
		}
		for _, c := range rows {
			require.Equal(t, c, row(c, c.ranks), "%v", c.op)
			if c.ranks != many {
				require.NotEqual(t, c, row(c, c.ranks+1))
			}
		}
	}
}
