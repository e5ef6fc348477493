package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// A tree is the list of the regular files under a directory: the pile that is
// dealt, and what it comes from.
type tree struct {
	pile
	failed []failure // directories and files that could not be looked at
	ahead  []string  // directories still to be listed
}

type found struct {
	path string
	size int64
}

// openTree lists the files in dir itself, which may be a symbolic link; links
// inside are skipped. It fails only if dir cannot be read.
func openTree(dir string) (*tree, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	t := &tree{}
	return t, t.add(dir)
}

// listNext lists one of the directories ahead.
func (t *tree) listNext() {
	dir := t.ahead[len(t.ahead)-1]
	t.ahead = t.ahead[:len(t.ahead)-1]
	if err := t.add(dir); err != nil {
		t.failDir(dir, err)
	}
}

func (t *tree) add(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil && len(entries) == 0 {
		return err
	}
	if err != nil {
		t.failDir(dir, err)
	}
	prefix := strings.TrimSuffix(dir, "/") + "/"
	for _, e := range entries {
		path := prefix + e.Name()
		switch {
		case e.IsDir():
			t.ahead = append(t.ahead, path)
		case e.Type().IsRegular():
			size, err := sizeOf(d, e)
			switch {
			case errors.Is(err, fs.ErrNotExist): // gone since: it was never here
			case err != nil:
				t.failed = append(t.failed, failure{Path: path, Reason: reason(err)})
			default:
				t.files = append(t.files, found{path, size})
			}
		}
	}
	return nil
}

func (t *tree) failDir(dir string, err error) {
	t.failed = append(t.failed, failure{Path: dir, Reason: reason(err), Dir: true})
}

// read is how many files, and how many bytes in them, were read to the end.
func (t *tree) read(failures []failure) (files int, bytes int64) {
	failed := map[string]bool{}
	for _, f := range failures {
		failed[f.Path] = true
	}
	for _, f := range t.files {
		if !failed[f.path] {
			files++
			bytes += f.size
		}
	}
	return files, bytes
}
