package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// written is a file of rows.
func written(t *testing.T, host string, rows ...Row) string {
	t.Helper()
	var b bytes.Buffer
	out, err := newJSON(&b, Meta{Host: host, Command: "shmrun bench alltoall", Peers: map[string]PeerMeta{}})
	require.NoError(t, err)
	for _, r := range rows {
		require.NoError(t, out.row(r))
	}
	name := filepath.Join(t.TempDir(), host+".json")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o644))
	return name
}

// timed is a row whose repetitions took that long.
func timed(bytes int64, state string, each ...figure) Row {
	return Row{Op: "alltoall", Engine: auto, Ranks: 2, Bytes: bytes, Touch: touchNone, State: state, Algbw: none(), Busbw: none(), Limit: none(),
		summary: summary{P50: each[len(each)/2]}, Each: each}
}

func TestVerdicts(t *testing.T) {
	sample := func(state string, p50 ...float64) *sampled { return &sampled{p50: p50, states: []string{state}} }
	base := []float64{100, 101, 102, 103, 104}
	for _, c := range []struct {
		what  string
		a, b  *sampled
		ratio float64
		is    string
	}{
		{"the same", sample("100ns", base...), sample("100ns", base...), 1, alike},
		{"slower", sample("100ns", base...), sample("110ns", 120, 121, 122, 123, 124), 122.0 / 102, slower},
		{"faster", sample("-", base...), sample("-", 51, 51, 51, 51, 51), 0.5, faster},
		{"within the noise", sample("100ns", base...), sample("100ns", 99, 102.5, 103.5, 104.5, 100.5), 102.5 / 102, alike},
		{"too few to tell", sample("100ns", 100, 101, 102), sample("100ns", 200, 201, 202), 201.0 / 101, alike},
		{"another state", sample("100ns", base...), sample("45ns", 220, 221, 222, 223, 224), 222.0 / 102, otherState},
		{"a state that would not settle", sample("100ns", base...), sample(moved, 220, 221, 222, 223, 224), 222.0 / 102, otherState},
		{"a state and none", sample("100ns", base...), sample("-", 220, 221, 222, 223, 224), 222.0 / 102, otherState},
	} {
		ratio, _, is := verdict(c.a, c.b)
		require.Equal(t, c.is, is, c.what)
		require.InDelta(t, c.ratio, ratio, 1e-9, c.what)
	}
	_, p, _ := verdict(sample("-", base...), sample("-", 120, 121, 122, 123, 124))
	require.InDelta(t, 2.0/252, p, 1e-6, "the rarest of the 252 orders of 5 and 5, or its opposite")
}

func TestCompare(t *testing.T) {
	compare := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Main(context.Background(), append([]string{"compare"}, args...), &out, &errs)
		return code, out.String(), errs.String()
	}
	old := written(t, "box", timed(8, "100ns", 1, 1.01, 1.02, 1.03, 1.04), timed(64, "100ns", 2, 2.01, 2.02, 2.03, 2.04), timed(512, "100ns", 3, 3, 3, 3, 3),
		Row{Op: "limits", Engine: "copy avx2", Ranks: 1, Bytes: 4096, State: "100ns", summary: summary{P50: 1}, Each: []figure{1, 1, 1, 1, 1}})
	same := written(t, "box", timed(8, "100ns", 1, 1.01, 1.02, 1.03, 1.04), timed(64, "100ns", 2.2, 2.21, 2.22, 2.23, 2.24), timed(4096, "100ns", 9, 9, 9, 9, 9),
		Row{Op: "limits", Engine: "copy rep movsb", Ranks: 1, Bytes: 4096, State: "100ns", summary: summary{P50: 1}, Each: []figure{1, 1, 1, 1, 1}})

	code, stdout, stderr := compare(old, same)
	require.Zero(t, code, stderr)
	require.NotContains(t, stdout, "# !!")
	require.Regexp(t, `alltoall auto, 2 ranks, 8 +1.020 +1.020 +1.00 +1.000 5\+5 ~\n`, stdout)
	require.Regexp(t, `alltoall auto, 2 ranks, 64 +2.020 +2.220 +1.10 +0.008 5\+5 SLOWER\n`, stdout)
	require.Contains(t, stdout, "# only in A: alltoall auto, 2 ranks, 512\n")
	require.Contains(t, stdout, "# only in B: alltoall auto, 2 ranks, 4K\n")
	require.Contains(t, stdout, "limits copy, 1 rank, 4K ", "whichever loop was the best")

	code, _, stderr = compare("--fail-over", "5%", old, same)
	require.Equal(t, exitFailed, code)
	require.Equal(t, "shmrun bench: 1 row slower by more than 5%: alltoall auto, 2 ranks, 64 (+9.9%)\n"+
		"shmrun bench: 1 row of A not in B: alltoall auto, 2 ranks, 512\n", stderr)

	code, stdout, _ = compare(old, written(t, "crate", timed(64, "250ns", 9, 9, 9, 9, 9)))
	require.Zero(t, code, "another state is not judged")
	require.Contains(t, stdout, "# !! different machines: box | crate\n")
	require.Contains(t, stdout, "# !! A in state 100 ns, B in state 250 ns\n")
	require.Contains(t, stdout, "other state, 100ns and 250ns\n")
	require.Contains(t, stdout, "# !! 1 row measured in different states of the machine: not judged\n")

	code, stdout, _ = compare(written(t, "one", timed(8, "-", 1)), written(t, "two", timed(8, "-", 2)))
	require.Zero(t, code)
	require.Contains(t, stdout, "# !! 1 row with fewer than 4 repetitions")
}

// A gate that cannot tell does not let pass.
func TestFailOver(t *testing.T) {
	five := timed(8, "100ns", 1, 1.01, 1.02, 1.03, 1.04)
	larger := timed(64, "100ns", 2, 2.01, 2.02, 2.03, 2.04)
	once := Row{Op: "limits", Engine: pairName(0, 1), Ranks: 2, Bytes: 8, State: "100ns", summary: summary{P50: 1}, Each: []figure{1}}
	gone := once
	gone.Engine = pairName(0, 2)
	for _, c := range []struct {
		what string
		a, b []Row
		want string // nothing: it passes
	}{
		{"the same", []Row{five}, []Row{five}, ""},
		{"slower by less", []Row{five}, []Row{timed(8, "100ns", 1.05, 1.06, 1.07, 1.08, 1.09)}, ""},
		{"faster", []Row{larger}, []Row{timed(64, "100ns", 1, 1, 1, 1, 1)}, ""},
		{"slower", []Row{five}, []Row{timed(8, "100ns", 2, 2, 2, 2, 2)}, "1 row slower by more than 10%: alltoall auto, 2 ranks, 8 (+96.1%)\n"},
		{"one repetition", []Row{timed(8, "100ns", 1)}, []Row{timed(8, "100ns", 2)}, "1 row with fewer than 4 repetitions: nothing can be told of them\n"},
		{"vanished", []Row{five, larger}, []Row{five}, "1 row of A not in B: alltoall auto, 2 ranks, 64\n"},
		{"new", []Row{five}, []Row{five, larger}, ""},
		{"no figures", []Row{five, larger}, []Row{five, timed(64, "100ns", none())}, "1 row without figures\n"},
		{"some in another state", []Row{five, larger}, []Row{five, timed(64, moved, 9, 9, 9, 9, 9)}, ""},
		{"all in another state", []Row{five}, []Row{timed(8, "300ns", 9, 9, 9, 9, 9)}, "1 row measured, all in different states of the machine: nothing can be told\n"},
		{"the machine's, once", []Row{five, once, gone}, []Row{five, once}, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Main(t.Context(), []string{"compare", "--fail-over", "10%", written(t, "a", c.a...), written(t, "b", c.b...)}, &out, &errs)
			if c.want == "" {
				require.Zero(t, code, errs.String())
				require.Empty(t, errs.String())
				return
			}
			require.Equal(t, exitFailed, code)
			require.Equal(t, "shmrun bench: "+c.want, errs.String())
		})
	}
}

// Several runs in one file are one with more repetitions.
func TestRunsInOneFileAddUp(t *testing.T) {
	one := written(t, "box", timed(8, "100ns", 1, 1, 1), timed(8, "104ns", 2, 2, 2))
	r, err := readBack(one)
	require.NoError(t, err)
	keys, of := r.byKey()
	require.Len(t, keys, 1)
	require.Equal(t, []float64{1, 1, 1, 2, 2, 2}, of[keys[0]].p50)
}

// What was written before there were repetitions in it is read, too.
func TestRowsWithoutRepetitions(t *testing.T) {
	r, err := readBack(filepath.Join("testdata", "alltoall.json"))
	require.NoError(t, err)
	require.Len(t, r.rows, 2, "tails are no rows")
	require.Equal(t, "box", r.metas[0].Host)
	text, err := json.Marshal(timed(8, "-", 5))
	require.NoError(t, err)
	old := strings.Replace(string(text), `,"reps_p50_us":[5]`, "", 1)
	require.NotEqual(t, string(text), old)
	name := filepath.Join(t.TempDir(), "old.json")
	require.NoError(t, os.WriteFile(name, []byte(fmt.Sprintf("{\"meta\":{}}\n\n%s\n", old)), 0o644))
	r, err = readBack(name)
	require.NoError(t, err)
	keys, of := r.byKey()
	require.Equal(t, []float64{5}, of[keys[0]].p50)
}

func TestWhatIsNoFileOfRows(t *testing.T) {
	good := written(t, "box", timed(8, "-", 1))
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                            "is empty",
		"\n\n":                        "is empty",
		"hello\n":                     "line 1: no row of",
		"[]\n":                        "line 1: no row of \"shmrun bench --format json\": it is no object but of the kind array;",
		"{\"meta\":{}}\n{\"op\":1}\n": "line 2: no row of \"shmrun bench --format json\": \"op\" is of the kind number;",
		"{\"meta\":{}}\n":             "has no rows",
		"{\"meta\":{}}\n{\"a\":1}\n":  "line 2: an object, but no row of",
		"{\"op\":\"put\"}\n":          "does not begin with",
		"{\"meta\":{}}\n{\"op\":\"put\",\"ranks\":2": "line 2: no row of",
		"# latency: half\n":                          "line 1: no row of",
	} {
		name := filepath.Join(dir, "bad")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		var out, errs bytes.Buffer
		require.Equal(t, exitUsage, Main(context.Background(), []string{"compare", good, name}, &out, &errs), text)
		require.Contains(t, errs.String(), want)
		require.Contains(t, errs.String(), name)
		require.Empty(t, out.String())
		require.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
	}
	var out, errs bytes.Buffer
	other := timed(8, "-", 1)
	other.Op = "put"
	require.Equal(t, exitUsage, Main(context.Background(), []string{"compare", good, written(t, "crate", other)}, &out, &errs))
	require.Contains(t, errs.String(), "have no row in common")
}
