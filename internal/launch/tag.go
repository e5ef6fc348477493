package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// maxLine bounds what is kept of a line that does not end; a longer one is
// written in pieces of this size, each as a line.
const maxLine = 1 << 20

// tagger writes what one stream of one rank brings, whole lines only, each with
// the rank's tag. Each Write makes at most one write to w, under mu, so
// lines of different ranks never mix.
type tagger struct {
	mu  *sync.Mutex // of w
	w   io.WriteCloser
	tag func([]byte) []byte
	cut []byte // the beginning of a line whose end has not come
	out []byte
}

func newTagger(tag func([]byte) []byte, mu *sync.Mutex, w io.WriteCloser) *tagger {
	return &tagger{mu: mu, w: w, tag: tag}
}

// tags are what stands before each line of a rank.
type tags struct {
	rank bool
	time bool // and the rank
	from time.Time
}

func (t tags) none() bool { return !t.rank && !t.time }

// of appends the tag of a line of rank that is read now.
func (t tags) of(rank int) func([]byte) []byte {
	text := "[" + strconv.Itoa(rank) + "] "
	return func(out []byte) []byte {
		if t.time {
			out = fmt.Appendf(out, "%12.6f ", time.Since(t.from).Seconds())
		}
		return append(out, text...)
	}
}

func (t *tagger) Write(p []byte) (int, error) {
	t.out = t.out[:0]
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			t.cut = append(t.cut, rest...)
			for len(t.cut) >= maxLine {
				t.line(t.cut[:maxLine])
				t.cut = append(t.cut[:0], t.cut[maxLine:]...)
			}
			break
		}
		t.cut = append(t.cut, rest[:end]...)
		t.line(t.cut)
		t.cut = t.cut[:0]
		rest = rest[end+1:]
	}
	return len(p), t.flush()
}

// Close writes the line that has no end, and closes w.
func (t *tagger) Close() error {
	t.out = t.out[:0]
	if len(t.cut) > 0 {
		t.line(t.cut)
		t.cut = nil
	}
	return errors.Join(t.flush(), t.w.Close())
}

func (t *tagger) line(text []byte) {
	t.out = append(append(t.tag(t.out), text...), '\n')
}

func (t *tagger) flush() error {
	if len(t.out) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.w.Write(t.out)
	return err
}

// kept is a writer that stays open when its last user has closed it.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// locked passes on what several ranks bring, untagged.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (l locked) Close() error { return nil }
