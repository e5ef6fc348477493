package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/bench/peers"
	"github.com/symwin/symwin/internal/ranktest"
)

// toured runs the tour with no peers, or with fakes of which ucx is missing.
func toured(t *testing.T, line string) (code int, stdout, stderr, dir string) {
	t.Helper()
	dir = t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), ranktest.Watchdog)
	defer cancel()
	var out, errs bytes.Buffer
	args := append([]string{"all", "--report", filepath.Join(dir, "r.html"), "--out", filepath.Join(dir, "r.json")}, strings.Fields(line)...)
	closed := []string{}
	code = mainWith(ctx, args, &out, &errs, func(_ context.Context, name string, job peers.Job) (peers.Peer, error) {
		if name == "ucx" {
			return nil, &peers.MissingError{Peer: name, Package: "ucx-utils"}
		}
		return &fake{name: name, closed: &closed}, nil
	})
	return code, out.String(), errs.String(), dir
}

func TestTour(t *testing.T) {
	code, stdout, stderr, dir := toured(t, "--quick -i 1 --reps 1 -n 2 --peer unix,ucx")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	first, _, _ := strings.Cut(stdout, "\n")
	require.Regexp(t, `^as long as 1 operations a row and repetition take: \d+ parts, \d+ rows$`, first)
	for _, want := range []string{"beside symwin: unix\n", "ucx is not installed: apt-get install ucx-utils\n", "\nlatency, 2 ranks, touch none; 8: ", "\nreport: " + dir, "\nrows: " + dir} {
		require.Contains(t, stdout, want)
	}
	r, err := readBack(filepath.Join(dir, "r.json"))
	require.NoError(t, err)
	require.Contains(t, r.metas[0].Command, "shmrun bench all ")
	require.Equal(t, "latency -n 2 -b 8 -e 1M -f 64 --touch none --peer unix --iters=1 --reps=1", strings.TrimPrefix(r.metas[2].Command, "shmrun bench "), "each part can be repeated alone")
	seen := map[string]bool{}
	for _, row := range r.rows {
		seen[row.Op] = true
		if row.Wrong != nil {
			require.Zero(t, *row.Wrong)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "r.html"))
	require.NoError(t, err)
	for _, o := range []*op{limits, latency, bandwidth, allToAll, broadcast, allReduce, barrier, startup} {
		require.True(t, seen[o.name], "no row of %s", o.name)
		require.Contains(t, string(page), `<h2 id="`+o.name+`">`)
	}
}

// TestTheTourGoesOn: every part fails, each says so, and the report is written.
func TestTheTourGoesOn(t *testing.T) {
	code, stdout, _, dir := toured(t, "--quick -i 1 --reps 1 -n 2 --peer none --timeout 0.001")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stdout, "\nlatency, 2 ranks, touch none; the ranks ended with exit code 124\n")
	require.Contains(t, stdout, "\nbarrier, 2 ranks; the ranks ended with exit code 124\n")
	page, err := os.ReadFile(filepath.Join(dir, "r.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "did not come to an end")
}

// TestThePlansOfTours: what is planned for machines of any size can be measured.
func TestThePlansOfTours(t *testing.T) {
	for _, c := range []struct{ n, cpus int }{{2, 1}, {2, 2}, {8, 8}, {64, 64}} {
		for _, quick := range []bool{false, true} {
			i := &itinerary{beside: peers.Names, quick: quick}
			i.plan(c.n, c.cpus)
			ops := map[string]bool{}
			for _, line := range i.lines {
				q, err := parse(line)
				require.NoError(t, err, "%v", line)
				_, err = findOp(q.words[0])
				require.NoError(t, err)
				require.LessOrEqual(t, q.launch.N, max(mostRanks, c.n))
				if q.engine == auto {
					_, err = q.job()
					require.NoError(t, err, "%v", line)
				}
				ops[q.words[0]] = true
			}
			for _, o := range []*op{limits, latency, bandwidth, allToAll, allReduce, barrier, startup} {
				require.True(t, ops[o.name], "no %s", o.name)
			}
		}
	}
}

func TestAnnouncement(t *testing.T) {
	q, err := parse([]string{"all"})
	require.NoError(t, err)
	i := &itinerary{}
	i.plan(2, 2)
	parts := q.parts(&i.lines)
	require.Len(t, parts, len(i.lines))
	all := time.Duration(0)
	for _, p := range parts {
		p.job.CPUs = p.job.CPUs[:min(2, len(p.job.CPUs))] // each pair of many takes its time
		all += p.job.lasts()
	}
	require.Regexp(t, fmt.Sprintf(`^about %s: %d parts, \d+ rows$`, span(all), len(parts)), announcement(q, parts))
	require.Greater(t, all, 10*time.Second)
	require.Less(t, all, 5*time.Minute)
}
