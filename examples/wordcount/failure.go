package main

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
)

// A failure says why a file or directory was not counted, or not all of it.
type failure struct {
	Path, Reason string
	Dir          bool
}

// reason is an error without the path it names.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// once sorts failures by path and leaves one for each: parts of a file fail on
// several ranks.
func once(f []failure) []failure {
	slices.SortFunc(f, func(a, b failure) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(f, func(a, b failure) bool { return a.Path == b.Path })
}
