//go:build !linux

package main

import (
	"io"
	"io/fs"
	"os"
)

type file struct{ *os.File }

func open(path string) (file, error) {
	f, err := os.Open(path)
	return file{f}, err
}

const noWait = 0

// readAt reads up to len(b) bytes, none at the end of the file.
func (f file) readAt(b []byte, off int64) (int, error) {
	n, err := f.ReadAt(b, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// size is what it is now.
func (f file) size() (int64, error) {
	i, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return i.Size(), nil
}

func (f file) close() { f.Close() }

func sizeOf(_ *os.File, e fs.DirEntry) (int64, error) {
	i, err := e.Info()
	if err != nil {
		return 0, err
	}
	return i.Size(), nil
}
