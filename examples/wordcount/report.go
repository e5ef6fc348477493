package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// report writes the answer for people. c is nil if it was not verified.
func report(w io.Writer, res *Result, j *job, dir string, c *check) error {
	var b bytes.Buffer
	ranks := j.team.Size()
	files, size := j.tree.read(j.failures)
	mb := float64(size) / 1e6
	for _, c := range res.Top {
		fmt.Fprintf(&b, "%12d  %s\n", c.Count, shorten(c.Word))
	}
	fmt.Fprintf(&b, "%d words, %d different, in %s under %s (%.1f MB)%s\n",
		res.Total, res.Distinct, plural(files, "file"), dir, mb, unread(j.failures))
	fmt.Fprintf(&b, "%.3f s with %s: %.0f MB/s, %.1f %% of the time in the exchange\n",
		res.Seconds, plural(ranks, "rank"), mb/res.Seconds, 100*res.ExchangeSeconds/res.Seconds)
	if c != nil && len(c.differs) == 0 {
		fmt.Fprintf(&b, "verified: %s counted once more by one process, all equal\n", plural(c.words, "word"))
	}
	fmt.Fprintf(&b, "next: %s\n", next(dir, ranks, c != nil))
	_, err := w.Write(b.Bytes())
	return err
}

// unread says how much is missing from the answer, and nothing if nothing is.
func unread(failures []failure) string {
	var files, dirs int
	for _, f := range failures {
		if f.Dir {
			dirs++
		} else {
			files++
		}
	}
	var what []string
	if files > 0 {
		what = append(what, plural(files, "file"))
	}
	if dirs > 0 {
		what = append(what, plural(dirs, "directory"))
	}
	if len(what) == 0 {
		return ""
	}
	return "; " + strings.Join(what, " and ") + " not read"
}

// next is what to try after this.
func next(dir string, ranks int, verified bool) string {
	switch {
	case ranks == 1:
		return fmt.Sprintf("shmrun -n %d --bind-to core wordcount %s", max(2, runtime.NumCPU()), dir)
	case !verified:
		return "--verify counts once more in one process and compares every word"
	}
	return "shmrun bench alltoall shows what an exchange costs on this machine"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, y := strings.CutSuffix(what, "y"); y {
		what = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shorten leaves a word that is longer than a line out in the middle.
func shorten(word string) string {
	const most = 64
	if len(word) <= most {
		return word
	}
	return fmt.Sprintf("%s… (%d letters)", word[:most/2], len(word))
}
