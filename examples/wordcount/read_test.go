package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Any way to split a file counts what the whole has, whatever the size of the
// buffer.
func TestPartsCountTheWhole(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := someText().Draw(t, "text")
		path := filepath.Join(dir, "text")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		size := int64(len(text))
		cuts := rapid.SliceOfN(rapid.Int64Range(0, size), 0, 5).Draw(t, "cuts")
		cuts = append(cuts, 0, size)
		slices.Sort(cuts)
		r := newReader()
		r.buf = make([]byte, rapid.IntRange(1, 100).Draw(t, "buffer")+slack)
		for i := range cuts[1:] {
			require.NoError(t, r.count(t.Context(), Part{path, cuts[i], cuts[i+1], size}))
		}
		require.Equal(t, words(text), counted(r.words))
	})
}

func TestAWordLongerThanTheBuffer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	long := strings.Repeat("Abc4567", 100_000)
	require.Greater(t, len(long), 2*readSize)
	require.NoError(t, os.WriteFile(path, []byte("x "+long+" y "+long), 0o600))
	size := int64(2 + 3 + 2*len(long))
	want := map[string]uint64{"x": 1, "y": 1, strings.ToLower(long): 2}
	for _, parts := range []int64{1, 2, 3, 50} {
		r := newReader()
		for i := range parts {
			require.NoError(t, r.count(t.Context(), Part{path, size * i / parts, size * (i + 1) / parts, size}))
		}
		require.True(t, maps.Equal(want, counted(r.words)), "%d parts", parts) // Equal would print the words
	}
}

func TestAFileThatChangesItsSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("one two three"), 0o600))

	r := newReader()
	require.NoError(t, r.count(t.Context(), Part{path, 0, 7, 7}))
	require.Equal(t, map[string]uint64{"one": 1, "two": 1}, counted(r.words), "what it has grown by is left out")

	for _, off := range []int64{0, 13, 15} {
		r = newReader()
		err := r.count(t.Context(), Part{path, off, 20, 20})
		require.ErrorIs(t, err, errShrunk)
		require.ErrorContains(t, err, path)
		if off == 0 {
			require.Equal(t, words([]byte("one two three")), counted(r.words), "what is there is counted")
		} else {
			require.Empty(t, counted(r.words))
		}
	}
	// It ends where the last word would have to be finished.
	r = newReader()
	require.ErrorIs(t, r.count(t.Context(), Part{path, 0, 13, 20}), errShrunk)
	require.Equal(t, words([]byte("one two three")), counted(r.words))
}

func TestAnEmptyFileThatHasGrown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o600))
	r := newReader()
	require.NoError(t, r.count(t.Context(), Part{Path: path}))
	require.Empty(t, counted(r.words))
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	plant(t, dir, map[string]string{"file": "a word"})
	require.NoError(t, os.Symlink("file", link))
	for _, path := range []string{filepath.Join(dir, "gone"), link, dir} {
		for _, size := range []int64{0, 5} {
			err := newReader().count(t.Context(), Part{path, 0, size, size})
			require.Error(t, err)
			require.ErrorContains(t, err, path)
			require.NotContains(t, reason(err), path)
		}
	}
}

func TestCountStopsWhenItIsToldTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, newReader().count(ctx, Part{path, 0, 3, 3}), context.Canceled)
}

func TestReaderAllocatesLittle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("the same words again and again\n"), 1<<15), 0o600))
	r, p := newReader(), Part{path, 100, 900_000, 32 << 15}
	require.NoError(t, r.count(t.Context(), p))
	// The name of a file, for the kernel; however long the file is.
	require.LessOrEqual(t, testing.AllocsPerRun(5, func() { _ = r.count(t.Context(), p) }), 1.0)
}
