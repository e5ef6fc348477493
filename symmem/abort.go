package symmem

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/symwin/symwin/internal/failpoint"
)

// AbortKind is the class of a world's or team's abort.
type AbortKind uint32

// The kinds.
const (
	AbortNone       AbortKind = iota
	AbortProgram              // World.Abort, or a launcher's
	AbortRankFailed           // ranks died
	AbortMismatch             // ranks made different calls
	AbortTimeout              // a deadline passed inside a collective
	AbortCanceled             // the caller's context was cancelled inside a collective
	AbortRegion               // the region is damaged
	AbortLeft                 // a rank that is waited for has closed its world
	abortKinds
)

var abortNames = [abortKinds]string{"none", "abort", "rank-failed", "mismatch", "timeout", "canceled", "region", "left"}

func (k AbortKind) String() string {
	if k < abortKinds {
		return abortNames[k]
	}
	return fmt.Sprintf("abort(%d)", uint32(k))
}

// MarshalText writes the kind's name into JSON.
func (k AbortKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// class is the sentinel that a kind stands for, or nil.
func (k AbortKind) class() error {
	switch k {
	case AbortRankFailed:
		return ErrRankFailed
	case AbortMismatch:
		return ErrMismatch
	case AbortTimeout:
		return ErrTimeout
	case AbortRegion:
		return ErrRegion
	case AbortLeft:
		return ErrLeft
	}
	return nil
}

// kindOf is the kind under which an error crosses to other ranks.
func kindOf(err error) AbortKind {
	switch {
	case errors.Is(err, ErrRankFailed):
		return AbortRankFailed
	case errors.Is(err, ErrMismatch):
		return AbortMismatch
	case errors.Is(err, ErrTimeout):
		return AbortTimeout
	case errors.Is(err, ErrRegion):
		return AbortRegion
	case errors.Is(err, ErrLeft), errors.Is(err, ErrClosed):
		return AbortLeft
	case errors.Is(err, context.Canceled):
		return AbortCanceled
	}
	return AbortProgram
}

// AbortInfo is an abort as its author told it.
type AbortInfo struct {
	Author int       `json:"author"`          // world rank, -1: the launcher
	Kind   AbortKind `json:"kind"`            //
	Ranks  []int     `json:"ranks,omitempty"` // the ranks that failed
	Text   string    `json:"text"`            //
}

// fill writes an account. Only the author writes its notice, and only once: the
// abort word is claimed once, and whoever lost the claim has written in vain.
func (n *notice) fill(kind AbortKind, failed []int, text string) {
	n.kind = uint32(kind)
	n.ranks = rankSet{}
	for _, r := range failed {
		n.ranks.add(r)
	}
	n.length = uint32(copy(n.text[:], text))
}

func (n *notice) read(author, size int) AbortInfo {
	return AbortInfo{
		Author: author,
		Kind:   AbortKind(n.kind),
		Ranks:  n.ranks.list(size),
		Text:   string(n.text[:min(n.length, maxText)]),
	}
}

// abort publishes the author's account and rings everybody. The first cause
// wins; it reports whether this one was it. Whoever finds the word set rings once
// more, so the author may die between its swap and its rings.
//
// Several goroutines of one rank may call it: the caller holds the rank's abort
// lock (World.abortMu, Host.mu).
func (r *region) abort(author int, kind AbortKind, failed []int, text string) bool {
	word, n := uint32(launcherAuthor), &r.head.launcher
	if author >= 0 {
		word, n = uint32(author)+1, &r.blocks[author].notice
	}
	if r.head.abort.Load() != 0 {
		r.ringAll()
		return false
	}
	n.fill(kind, failed, text)
	first := r.head.abort.CompareAndSwap(0, word)
	failpoint.Hit(failpoint.AbortClaimed)
	r.ringAll()
	return first
}

func (r *region) ringAll() {
	for _, b := range r.blocks {
		b.bell.RingAlways()
	}
}

// aborted reads the world's abort, if there is one.
func (r *region) aborted() (AbortInfo, bool) {
	word := r.head.abort.Load()
	switch {
	case word == 0:
		return AbortInfo{}, false
	case word == launcherAuthor:
		return r.head.launcher.read(-1, r.Size), true
	case int(word) <= r.Size:
		return r.blocks[word-1].notice.read(int(word)-1, r.Size), true
	}
	return AbortInfo{Author: -1, Kind: AbortRegion, Text: fmt.Sprintf("the abort word holds %#x", word)}, true
}

// err is the abort as an error. fallen are the ranks that died by themselves: an
// error names all of them, whoever was seen first.
func (a AbortInfo) err(fallen []int) error {
	if a.Kind == AbortRankFailed {
		ranks := append(slices.Clone(a.Ranks), fallen...)
		slices.Sort(ranks)
		return &RankFailedError{Ranks: slices.Compact(ranks), Cause: a.Text}
	}
	if a.Kind == AbortRegion && a.Author < 0 {
		return regionError("%s", a.Text)
	}
	return &AbortedError{Rank: a.Author, Team: -1, Reason: a.Text, kind: a.Kind}
}
