package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// readSize is what is read at a time: with the table's most used entries it
// stays in a second-level cache of 1 MiB.
const readSize = 256 << 10

// A reader feeds files to a scanner. Its buffer grows only if a word does not
// fit into it.
type reader struct {
	scanner
	buf []byte
}

func newReader() *reader {
	return &reader{scanner: scanner{words: newTable()}, buf: make([]byte, readSize+slack)}
}

// count counts the words of a part. What could be read before an error is
// counted.
func (r *reader) count(ctx context.Context, p Part) (err error) {
	f, err := open(p.Path)
	if err != nil {
		return err
	}
	defer f.close()
	if p.Size == 0 {
		return r.findEmpty(f)
	}

	at, held := p.Off, 0 // held bytes at the front of buf are a word whose end has not been seen
	inside := false      // the text here may be the rest of a word of the part before
	if p.Off > 0 {
		at, inside = at-1, true // the byte before tells
	}
	for at < p.End || held > 0 && at < p.Size {
		upto := p.End
		if at >= p.End {
			upto = p.Size // only to finish the last word
		}
		if held == len(r.buf)-slack {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		room := r.buf[held : len(r.buf)-slack]
		n, err := f.readAt(room[:min(int64(len(room)), upto-at)], at)
		if err == nil && n == 0 {
			err = &fs.PathError{Op: "read", Path: p.Path, Err: errShrunk}
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			r.scan(r.buf[:held])
			return err
		}
		text := r.buf[:held+n]
		at += int64(n)

		if inside {
			i := separator(text)
			inside = i == len(text)
			text = text[i:]
		}
		if at > p.End {
			if i := held + separator(text[held:]); i < len(text) {
				r.scan(text[:i])
				return nil
			}
		}
		cut := len(text)
		for cut > 0 && isLetter(text[cut-1]) {
			cut--
		}
		if cut > 0 {
			r.scan(text[:cut])
		}
		held = copy(r.buf, text[cut:])
	}
	r.scan(r.buf[:held])
	return nil
}

// findEmpty reads a file without size, which should be empty. The files of /proc
// have no size and are not: how long they are nobody knows beforehand, and pagemap
// has 256 GB. A file that has a size by now has grown, which is left out.
func (r *reader) findEmpty(f file) error {
	n, err := f.readAt(r.buf[:8], 0)
	if err != nil || n == 0 {
		return err
	}
	if size, err := f.size(); err != nil || size > 0 {
		return err
	}
	return errNoSize
}

var errNoSize = errors.New("it has content, but says that its size is 0")

var errShrunk = fmt.Errorf("the file has become shorter: %w", io.ErrUnexpectedEOF)

// separator is the place of the first byte that is in no word, len(text) if
// there is none.
func separator(text []byte) int {
	for i, c := range text {
		if !isLetter(c) {
			return i
		}
	}
	return len(text)
}
