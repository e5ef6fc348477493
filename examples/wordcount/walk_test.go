package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// plant makes files, by path and content.
func plant(t testing.TB, dir string, files map[string]string) {
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func listed(t *tree) []found {
	slices.SortFunc(t.files, func(a, b found) int { return cmp.Compare(a.path, b.path) })
	return t.files
}

func TestWalkFindsRegularFilesAndFollowsNoLinks(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "dir")
	plant(t, dir, map[string]string{"a": "1", "b/c": "22", "b/d/e": "333", "empty": "", "näme \xff": "4444"})
	plant(t, top, map[string]string{"outside/f": "55555"})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "nothing"), 0o755))
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "b", "loop")))
	require.NoError(t, os.Symlink("../outside", filepath.Join(dir, "elsewhere")))
	require.NoError(t, os.Symlink("dangling", filepath.Join(dir, "dangling")))
	require.NoError(t, os.Symlink("dir", filepath.Join(top, "way")))

	for _, way := range []string{dir, dir + "/", filepath.Join(top, "way")} {
		tree, err := openTree(way)
		require.NoError(t, err)
		listAll(tree)
		require.Empty(t, tree.failed)
		at := filepath.Clean(way) + "/"
		require.Equal(t, []found{{at + "a", 1}, {at + "b/c", 2}, {at + "b/d/e", 3}, {at + "empty", 0}, {at + "näme \xff", 4}}, listed(tree))
	}
}

func listAll(t *tree) {
	for len(t.ahead) > 0 {
		t.listNext()
	}
}

func TestWhatCannotBeListed(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"file": "x", "below/file": "x"})
	_, err := openTree(filepath.Join(dir, "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = openTree(filepath.Join(dir, "file"))
	require.ErrorContains(t, err, "file is not a directory")

	tree, err := openTree(dir)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "below")))
	listAll(tree)
	require.Equal(t, []failure{{filepath.Join(dir, "below"), "no such file or directory", true}}, tree.failed)
	require.Len(t, tree.files, 1)
}
