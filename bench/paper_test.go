package bench

import (
	"bytes"
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

// Whatever ends the process before there is something to write, no new file is left;
// nor is one that could not be written.
func TestPapersAreNotThereBeforeTheyAreWritten(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	require.NoError(t, os.WriteFile(name("old"), []byte("last week's"), 0o644))
	all, err := (&request{file: name("new"), plot: name("new.svg"), report: name("old")}).papers("out", "plot", "report")
	require.NoError(t, err)
	require.NoFileExists(t, name("new"))
	require.NoFileExists(t, name("new.svg"))
	torn := func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return errGone }
	require.ErrorIs(t, all.write("plot", torn), errGone)
	require.ErrorIs(t, all.write("report", torn), errGone)
	require.NoFileExists(t, name("new.svg"))
	text, err := os.ReadFile(name("old"))
	require.NoError(t, err)
	require.Equal(t, "last week's", string(text))
	require.NoError(t, all.end("out"))
	require.NoFileExists(t, name("new"))
	all.discard()
}

// Each file that cannot be written is told.
func TestAllFilesThatCannotBeWrittenAreTold(t *testing.T) {
	dir := t.TempDir()
	var full [2]string
	for k, name := range []string{"full.svg", "full.html"} {
		full[k] = filepath.Join(dir, name)
		if os.Symlink("/dev/full", full[k]) != nil {
			t.Skip("no symbolic links")
		}
	}
	if _, err := os.Stat(full[0]); err != nil {
		t.Skip(err)
	}
	var stderr bytes.Buffer
	code := Main(t.Context(), []string{"latency", "-b", "8", "-e", "16", "-i", "1", "--reps", "1", "--plot", full[0], "--report", full[1]}, io.Discard, &stderr)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr.String(), "shmrun bench: --plot: write "+full[0])
	require.Contains(t, stderr.String(), "shmrun bench: --report: write "+full[1])
}
