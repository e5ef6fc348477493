package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/examples/internal/programtest"
)

// forest is a tree with every kind of file, and the count of its words.
func forest(t testing.TB) (dir string, want map[string]uint64) {
	random := rand.New(rand.NewPCG(3, 4))
	files := map[string]string{
		"empty":         "",
		"no words":      strings.Repeat("+-*/\n\x00\xff", 50_000),
		"one word":      strings.Repeat("Long", 60_000), // over several pieces
		"case/UPPER":    "The THE the tHe",
		"not ASCII":     "naïve Straße 漢字 \xc3\x28 a\u0301b",
		"no end":        "one two",
		"two, then one": "one ",
	}
	for i := range 40 {
		var text strings.Builder
		for range random.IntN(3000) {
			fmt.Fprintf(&text, "w%d%s", int(random.ExpFloat64()*500), []string{" ", ", ", "\n", "_", "é"}[random.IntN(5)])
		}
		fmt.Fprintf(&text, "%s%d", strings.Repeat("Abcdefgh", random.IntN(20)), i)
		files[fmt.Sprintf("d%d/e%d/f%d", i%3, i%7, i)] = text.String()
	}
	dir = t.TempDir()
	plant(t, dir, files)
	want = map[string]uint64{}
	for _, text := range files {
		for w, n := range words([]byte(text)) {
			want[w] += n
		}
	}
	return dir, want
}

func inProcess(t testing.TB, n int, args ...string) (stdout, stderr string, codes []int) {
	silent := func(ctx context.Context, w *symwin.World, args []string, stdout, stderr io.Writer) (int, error) {
		return run(ctx, w, args, stdout, stderr, nil)
	}
	return programtest.InProcess(t, n, silent, args...)
}

func checkAnswer(t testing.TB, want map[string]uint64, stdout string) {
	var got Result
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&got), stdout)
	require.Equal(t, totalOf(want), got.Total)
	require.EqualValues(t, len(want), got.Distinct)
	require.Equal(t, topOf(want), got.Top)
	require.Positive(t, got.Seconds)
	require.GreaterOrEqual(t, got.Seconds, got.ExchangeSeconds)
	require.False(t, d.More())
}

func TestTheAnswerIsTheSameForAnyNumberOfRanks(t *testing.T) {
	dir, want := forest(t)
	for _, n := range []int{1, 2, 3, 5, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			stdout, stderr, codes := inProcess(t, n, "--verify", "--json", dir)
			require.Empty(t, stderr)
			require.Equal(t, make([]int, n), codes)
			checkAnswer(t, want, stdout)
		})
	}
}

// Rounds so small that every word is cut.
func TestTheAnswerIsTheSameInManyRounds(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a": "the cat and the hat and", "b/c": strings.Repeat("long", 10) + " the end", "b/d": "cat"})
	for _, budget := range []int{1, 5, 17} {
		require.NoError(t, symwin.Run(t.Context(), 3, func(ctx context.Context, w *symwin.World) error {
			j, err := newJob(ctx, w, nil)
			if err != nil {
				return err
			}
			j.exchange = NewExchange(w.Team(), budget)
			res, err := j.count(ctx, dir)
			if err != nil {
				return err
			}
			check, err := j.verify(ctx)
			if err == nil && w.Rank() == 0 && (res.Total != 10 || res.Distinct != 6 || res.Top[0] != (WordCount{"the", 3}) || check.words != 6 || len(check.differs) > 0) {
				err = fmt.Errorf("budget %d: %+v %+v", budget, res, check)
			}
			return err
		}))
	}
}

// A tree of many more shares than a rank has orders for, in files that are whole
// in a share and files that are not.
func TestEveryShareIsCountedOnce(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("all work and no play makes jack a dull boy\n", 2*shareBytes/43)
	files, want := map[string]string{}, map[string]uint64{}
	for i := range 80 {
		part := text[:len(text)/(1+i%7*i)]
		files[fmt.Sprintf("d%d/f%d", i%9, i)] = part
		for w, n := range words([]byte(part)) {
			want[w] += n
		}
	}
	plant(t, dir, files)
	for _, n := range []int{1, 2, 3} {
		stdout, _, _ := inProcess(t, n, "--json", dir)
		checkAnswer(t, want, stdout)
	}
}

func TestAnEmptyDirectory(t *testing.T) {
	stdout, stderr, codes := inProcess(t, 3, "--json", "--verify", t.TempDir())
	require.Empty(t, stderr)
	require.Equal(t, []int{0, 0, 0}, codes)
	require.Contains(t, stdout, `{"total":0,"distinct":0,"top":[],"seconds":`)
}

func TestBadInputIsOneLineFromRankZero(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"file": "x"})
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"missing":       {[]string{filepath.Join(dir, "nowhere")}, "nowhere: no such file or directory"},
		"no directory":  {[]string{filepath.Join(dir, "file")}, "file is not a directory"},
		"unknown flag":  {[]string{"--fast", dir}, "unknown flag: --fast"},
		"nothing":       {nil, "one directory is wanted, 0 were given"},
		"empty name":    {[]string{""}, "DIR is empty; wordcount . counts here"},
		"two":           {[]string{dir, dir}, "one directory is wanted, 2 were given"},
		"bad flag text": {[]string{"--json=perhaps", dir}, "perhaps"},
	} {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				stdout, stderr, codes := inProcess(t, n, c.args...)
				require.Empty(t, stdout)
				require.Contains(t, stderr, c.want)
				require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
				require.Equal(t, append([]int{2}, make([]int, n-1)...), codes)
			})
		}
	}
}

func TestHelp(t *testing.T) {
	stdout, stderr, codes := inProcess(t, 2, "--help")
	require.Empty(t, stderr)
	require.Equal(t, []int{0, 0}, codes)
	require.Contains(t, stdout, "--skip-errors")
}

func TestReport(t *testing.T) {
	dir, want := forest(t)
	stdout, _, _ := inProcess(t, 2, "--verify", dir)
	first := topOf(want)[0]
	require.True(t, strings.HasPrefix(stdout, fmt.Sprintf("%12d  %s\n", first.Count, first.Word)), stdout)
	require.Contains(t, stdout, fmt.Sprintf("\n%d words, %d different, in ", totalOf(want), len(want)))
	require.Contains(t, stdout, fmt.Sprintf("verified: %d words", len(want)))
	require.Equal(t, 1, strings.Count(stdout, "\nnext: "))
}
