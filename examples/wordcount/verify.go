package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
)

// A check is what verify has found.
type check struct {
	words   int      // compared
	differs []string // what about each that is not right
}

// verify counts once more, on rank 0 alone and by other means: a map, and one
// byte after the other. It brings all words of all owners there and compares
// every one. Other ranks get an empty check.
func (j *job) verify(ctx context.Context) (*check, error) {
	t := j.reader.words
	out := newOutboxes(j.team.Size(), t.used)
	for e := range t.entries() {
		if e.owner(len(out)) == j.team.Rank() {
			out[0].put(t, e)
		}
	}
	c := &check{}
	differ := func(format string, a ...any) { c.differs = append(c.differs, fmt.Sprintf(format, a...)) }
	got := map[string]uint64{}
	err := sendWords(ctx, j.exchange, out, func(int) {}, func(w []byte, n uint64) {
		if _, twice := got[string(w)]; twice {
			differ("%q has two owners", w)
		}
		got[string(w)] += n
	})
	if err != nil || j.team.Rank() != 0 {
		return c, err
	}
	want := map[string]uint64{}
	for i, f := range j.tree.files {
		recount(f, want)
		j.progress.say(func() string { return fmt.Sprintf("verifying: file %d of %d", i, len(j.tree.files)) })
	}
	for w, n := range want {
		if got[w] != n {
			differ("%q was counted %d times and is there %d times", w, got[w], n)
		}
	}
	for w, n := range got {
		if want[w] == 0 {
			differ("%q was counted %d times and is not there", w, n)
		}
	}
	c.words = len(want)
	return c, nil
}

// recount adds the words of a file. What cannot be read has been named already,
// and is not waited for here either.
func recount(f found, m map[string]uint64) {
	in, err := os.OpenFile(f.path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return
	}
	defer in.Close()
	b := bufio.NewReaderSize(io.LimitReader(in, f.size), 64<<10)
	var word []byte
	for {
		c, err := b.ReadByte()
		switch {
		case err == nil && ('a' <= c && c <= 'z' || '0' <= c && c <= '9'):
			word = append(word, c)
			continue
		case err == nil && 'A' <= c && c <= 'Z':
			word = append(word, c-'A'+'a')
			continue
		case len(word) > 0:
			m[string(word)]++
			word = word[:0]
		}
		if err != nil {
			return
		}
	}
}
