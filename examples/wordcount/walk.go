package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// A tree is the list of the regular files under a directory.
type tree struct {
	files  []found
	bytes  int64
	failed []failure // directories and files that could not be looked into
}

type found struct {
	path string
	size int64
}

// walk lists the regular files under dir, which may be a symbolic link itself;
// links inside are skipped. It fails only if dir itself cannot be read.
func walk(dir string, p *progress) (*tree, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	t := &tree{}
	return t, t.add(dir, p)
}

func (t *tree) add(dir string, p *progress) error {
	p.say(func() string { return fmt.Sprintf("listing: %d files", len(t.files)) })
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
		t.failed = append(t.failed, failure{dir, reason(err)})
	}
	var below []string
	prefix := strings.TrimSuffix(dir, "/") + "/"
	for _, e := range entries {
		path := prefix + e.Name()
		switch {
		case e.IsDir():
			below = append(below, path)
		case e.Type().IsRegular():
			size, err := sizeOf(d, e)
			if errors.Is(err, fs.ErrNotExist) {
				continue // gone between the two looks: it was never here
			}
			if err != nil {
				t.failed = append(t.failed, failure{path, reason(err)})
				continue
			}
			if size > 0 {
				t.bytes += size
			}
			t.files = append(t.files, found{path, size})
		}
	}
	d.Close() // before going down, so that a deep tree takes no more descriptors than a flat one
	for _, path := range below {
		if err := t.add(path, p); err != nil {
			t.failed = append(t.failed, failure{path, reason(err)})
		}
	}
	return nil
}
