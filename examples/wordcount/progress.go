package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// A progress is one line on a terminal that says what is going on, from two
// seconds on. A nil one says nothing.
type progress struct {
	out   *os.File
	begin time.Time
	next  time.Time // not before
	shown bool
}

// newProgress is nil if out is no terminal.
func newProgress(out *os.File) *progress {
	if !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	now := time.Now()
	return &progress{out: out, begin: now, next: now.Add(2 * time.Second)}
}

// say may be called often: text is asked for five times a second.
func (p *progress) say(text func() string) {
	if p == nil {
		return
	}
	if now := time.Now(); now.After(p.next) {
		fmt.Fprintf(p.out, "\r\x1b[K%.0f s, %s", now.Sub(p.begin).Seconds(), text())
		p.next, p.shown = now.Add(200*time.Millisecond), true
	}
}

// clear takes the line away, before something else is written.
func (p *progress) clear() {
	if p != nil && p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}
