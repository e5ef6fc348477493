package bench

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What cannot be measured costs no file that was there, and leaves none.
func TestPapersOfAnErrorAreAsBefore(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	for _, q := range []*request{
		{file: name("old"), plot: name("new.svg"), report: name("no/such")},
		{file: name("new"), plot: name("old"), report: dir},
		{file: name("old"), plot: name("link")},
		{file: name("new"), report: name("new")},
	} {
		require.NoError(t, os.WriteFile(name("old"), []byte("last week's"), 0o644))
		_ = os.Symlink(name("old"), name("link"))
		_, err := q.papers("out", "plot", "report")
		require.Error(t, err)
		text, err := os.ReadFile(name("old"))
		require.NoError(t, err)
		require.Equal(t, "last week's", string(text))
		require.NoFileExists(t, name("new"))
		require.NoFileExists(t, name("new.svg"))
	}
	_, err := (&request{file: name("new"), report: name("new")}).papers("out", "report")
	require.ErrorContains(t, err, "--out and --report are one file, "+name("new"))
	_, err = (&request{file: os.DevNull, report: os.DevNull}).papers("out", "report")
	require.NoError(t, err, "of which anybody may have several")
}

// What is written has nothing left of what was there, however long that was.
func TestPapersAreWrittenAnew(t *testing.T) {
	name := filepath.Join(t.TempDir(), "old")
	for _, streamed := range []bool{false, true} {
		require.NoError(t, os.WriteFile(name, make([]byte, 100), 0o644))
		all, err := (&request{file: name}).papers("out")
		require.NoError(t, err)
		if streamed {
			for _, part := range []string{"ro", "ws"} {
				_, err = io.WriteString(all["out"], part)
				require.NoError(t, err)
			}
			require.NoError(t, all.write("out", func(io.Writer) error { return nil }))
		} else {
			require.NoError(t, all.write("out", func(w io.Writer) error { _, err := io.WriteString(w, "rows"); return err }))
		}
		all.discard()
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, "rows", string(text))
	}
	require.Equal(t, exitUsage, Main(t.Context(), []string{"latency", "--plot", name + ".svg", "--out", name + ".svg"}, io.Discard, io.Discard))
}
