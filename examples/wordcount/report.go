package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
)

// report writes the answer for people. c is nil if it was not verified.
func report(w io.Writer, res *Result, t *tree, dir string, ranks int, c *check) error {
	var b bytes.Buffer
	for _, c := range res.Top {
		fmt.Fprintf(&b, "%12d  %s\n", c.Count, shorten(c.Word))
	}
	fmt.Fprintf(&b, "%d words, %d different, in %s under %s (%.1f MB)\n",
		res.Total, res.Distinct, plural(len(t.files), "file"), dir, float64(t.bytes)/1e6)
	fmt.Fprintf(&b, "%.3f s with %s: %.0f MB/s, %.1f %% of the time in the exchange\n",
		res.Seconds, plural(ranks, "rank"), float64(t.bytes)/1e6/res.Seconds, 100*res.ExchangeSeconds/res.Seconds)
	if c != nil && len(c.differs) == 0 {
		fmt.Fprintf(&b, "verified: %s counted once more by one process, all equal\n", plural(c.words, "word"))
	}
	fmt.Fprintf(&b, "next: %s\n", next(dir, ranks, c != nil))
	_, err := w.Write(b.Bytes())
	return err
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
