package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/examples/internal/programtest"
)

// inputs are files of all kinds, drawn with a fixed seed.
func inputs() map[string]string {
	random := rand.New(rand.NewPCG(5, 6))
	lines := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
			b.WriteByte('\n')
		}
		return b.String()
	}
	word := func(most int, letters string) string {
		b := make([]byte, random.IntN(most+1))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}
	return map[string]string{
		"empty":          "",
		"one blank":      "\n",
		"blanks":         strings.Repeat("\n", 3000),
		"one line":       "only",
		"no end":         "b\na\nc",
		"random":         lines(4000, func(int) string { return word(40, "abcdefghijklmnopqrstuvwxyz ") }),
		"few letters":    lines(4000, func(int) string { return word(12, "ab") }),
		"binary":         lines(3000, func(int) string { return word(30, "\x00\x01\t\r\x7f\x80\xff") }),
		"below the end":  lines(2000, func(int) string { return word(5, "a\x01\x0b") }),
		"one and others": lines(4000, func(i int) string { return []string{"the same", word(9, "xyz")}[min(i%10/9, 1)] }),
		"all the same":   lines(5000, func(int) string { return "the same line, again and again" }),
		"sorted":         lines(3000, func(i int) string { return fmt.Sprintf("%08d", i) }),
		"reversed":       lines(3000, func(i int) string { return fmt.Sprintf("%08d", 3000-i) }),
		"same heads": lines(3000, func(int) string {
			return "equal for more than 64 bytes, so that samples are all the same: " + word(4, "pqr")
		}),
		"long lines": lines(150, func(int) string { return strings.Repeat(word(3, "abc"), random.IntN(300)) }) + strings.Repeat("z", 900),
	}
}

// sorted is what the system's sort makes of text.
func sorted(t *testing.T, text string) string {
	c := exec.Command("sort")
	c.Env = append(os.Environ(), "LC_ALL=C")
	c.Stdin = strings.NewReader(text)
	out, err := c.Output()
	require.NoError(t, err)
	return string(out)
}

func write(t *testing.T, text string) (dir, in string) {
	dir = t.TempDir()
	in = filepath.Join(dir, "in")
	require.NoError(t, os.WriteFile(in, []byte(text), 0o600))
	return dir, in
}

// sortIn sorts in with n ranks and little memory.
func sortIn(t *testing.T, n, memory int, in, out string) Result {
	var res Result
	require.NoError(t, symwin.Run(t.Context(), n, func(ctx context.Context, w *symwin.World) error {
		j, err := newJob(ctx, w, memory, t.TempDir())
		if err != nil {
			return err
		}
		defer j.close()
		r, err := j.sort(ctx, in, out)
		if w.Rank() == 0 {
			res = r
		}
		return err
	}))
	return res
}

func requireFile(t *testing.T, want, name string) {
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	if string(got) != want { // not thousands of lines of difference
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Fatalf("%d bytes instead of %d, the first difference at %d: %.40q instead of %.40q", len(got), len(want), at, got[at:], want[at:])
	}
}

func TestTheOutputIsThatOfSort(t *testing.T) {
	for name, text := range inputs() {
		t.Run(name, func(t *testing.T) {
			want := sorted(t, text)
			for _, n := range []int{1, 2, 3, 5, 8} {
				dir, in := write(t, text)
				res := sortIn(t, n, max(n, 2)*leastPiece*pieces, in, filepath.Join(dir, "out"))
				requireFile(t, want, filepath.Join(dir, "out"))
				requireFile(t, text, in)
				require.EqualValues(t, len(want), res.Bytes)
				require.EqualValues(t, strings.Count(want, "\n"), res.Lines)
				if n == 2 { // into itself
					sortIn(t, n, max(n, 2)*leastPiece*pieces, in, in)
					requireFile(t, want, in)
				}
			}
		})
	}
}

// More runs than can be merged at once: some are merged into one before.
func TestManyRuns(t *testing.T) {
	var text strings.Builder
	random := rand.New(rand.NewPCG(7, 8))
	for text.Len() < 2<<20 {
		fmt.Fprintf(&text, "%x\n", random.Uint64()>>random.IntN(64))
	}
	dir, in := write(t, text.String())
	res := sortIn(t, 2, 2*leastPiece*pieces, in, filepath.Join(dir, "out"))
	requireFile(t, sorted(t, text.String()), filepath.Join(dir, "out"))
	require.Greater(t, res.Runs, int64(200)) // of 16 that can be merged at once
}

// Nobody gets more than twice its part, also where most lines are equal.
func TestWorkIsShared(t *testing.T) {
	const n = 4
	for name, text := range inputs() {
		if len(text) < 50_000 || name == "long lines" {
			continue
		}
		_, in := write(t, text)
		parts := make([]int64, n)
		require.NoError(t, symwin.Run(t.Context(), n, func(ctx context.Context, w *symwin.World) error {
			j, err := newJob(ctx, w, n*leastPiece*pieces, t.TempDir())
			if err != nil {
				return err
			}
			defer j.close()
			f, err := os.Open(in)
			if err != nil {
				return err
			}
			defer f.Close()
			parts[w.Rank()], _, err = j.distribute(ctx, io.NewSectionReader(f, 0, int64(len(text))), in)
			return err
		}))
		for _, part := range parts {
			require.LessOrEqual(t, part, int64(2*len(text)/n), "%s: %d", name, parts)
		}
	}
}

func inProcess(t testing.TB, n int, args ...string) (stdout, stderr string, codes []int) {
	return programtest.InProcess(t, n, run, args...)
}

// Whatever is wrong is one line, the same status on all ranks, and no file that
// was not there before.
func TestOneClearError(t *testing.T) {
	dir, in := write(t, "b\na\n")
	long := filepath.Join(dir, "long")
	require.NoError(t, os.WriteFile(long, []byte("short\n"+strings.Repeat("x", 1<<20)+"\n"), 0o600))
	big := filepath.Join(dir, "big")
	require.NoError(t, os.WriteFile(big, []byte(strings.Repeat("a line of a file that needs a second run\n", 60_000)), 0o600))
	out, nowhere := filepath.Join(dir, "out"), filepath.Join(dir, "no", "where")
	for want, c := range map[string]struct {
		status int
		args   []string
	}{
		"stat " + nowhere + ": no such file or directory":                 {2, []string{nowhere, out}},
		"open " + nowhere + ": no such file or directory":                 {2, []string{in, nowhere}},
		dir + ": is no regular file":                                      {2, []string{in, dir}},
		"/dev/null: is no regular file":                                   {2, []string{"/dev/null", out}},
		long + ": the line at byte 6 has":                                 {1, []string{"--memory", "1", long, out}},
		"open " + nowhere + "/sort-":                                      {1, []string{"--memory", "1", "--temp", nowhere, big, out}},
		"two files are wanted, IN and OUT, 1 were given":                  {2, []string{in}},
		"unknown flag: --reverse; sort --help says what there is":         {2, []string{"--reverse", in, out}},
		"--memory 99999: ":                                                {2, []string{"--memory", "99999", in, out}},
		"with windows of 16 MiB (shmrun --window) work in 1 to 16 MiB":    {2, []string{"--memory", "0", in, out}},
		`invalid argument "much" for "--memory" flag: strconv.ParseInt: `: {2, []string{"--memory", "much", in, out}},
	} {
		for _, n := range []int{1, 3} {
			stdout, stderr, codes := inProcess(t, n, c.args...)
			require.Empty(t, stdout)
			require.Contains(t, stderr, want)
			require.Regexp(t, `^sort: [^\n]+\n$`, stderr)
			for _, code := range codes {
				require.Equal(t, c.status, code, "%s: %v", want, codes)
			}
			require.NoFileExists(t, out)
		}
	}
	requireFile(t, "b\na\n", in)
	stdout, stderr, codes := inProcess(t, 2, "--help")
	require.Contains(t, stdout, "--memory MIB")
	require.Empty(t, stderr)
	require.Equal(t, []int{0, 0}, codes)
}
