package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/symwin/symwin/symmem"
)

// event is one line that a rank writes to the campaign.
type event struct {
	Rank  int     `json:"r"`
	What  string  `json:"e"`           // joined, dying, ended, again, wrong, filled
	At    int64   `json:"t"`           // the clock that all processes share, ns
	Class string  `json:"c,omitempty"` // of the error: "" none
	Ranks []int   `json:"n,omitempty"` // whom it names
	Text  string  `json:"x,omitempty"` //
	Did   []int64 `json:"d,omitempty"` // for filled: what came of each Alloc
}

// told serialises the lines of one process, and is atomic between processes: a
// line is shorter than what a pipe takes at once.
var told sync.Mutex

func (e event) tell() {
	e.At = now()
	e.Text = e.Text[:min(len(e.Text), 600)]
	line, _ := json.Marshal(e)
	told.Lock()
	defer told.Unlock()
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// failed is the event of an error.
func failed(rank int, what, op string, err error) event {
	e := event{Rank: rank, What: what, Class: classOf(err)}
	if err == nil {
		return e
	}
	e.Text = fmt.Sprintf("%s: %v", op, err)
	var dead *symmem.RankFailedError
	var late *symmem.TimeoutError
	var left *symmem.LeftError
	switch {
	case errors.As(err, &dead):
		e.Ranks = dead.Ranks
	case errors.As(err, &late):
		e.Ranks = late.Missing
	case errors.As(err, &left):
		e.Ranks = left.Ranks
	}
	return e
}

// classOf is which of the library's errors err is; "other" is none of them, and
// always wrong.
func classOf(err error) string {
	var wrong *wrongBytes
	switch {
	case err == nil:
		return ""
	case errors.As(err, &wrong):
		return "wrong"
	case errors.Is(err, symmem.ErrRankFailed):
		return "failed"
	case errors.Is(err, symmem.ErrNoSpace):
		return "space"
	case errors.Is(err, symmem.ErrMismatch):
		return "mismatch"
	case errors.Is(err, symmem.ErrRegion):
		return "region"
	case errors.Is(err, symmem.ErrLeft):
		return "left"
	case errors.Is(err, symmem.ErrTimeout):
		return "timeout"
	case errors.Is(err, symmem.ErrAborted):
		return "aborted"
	case errors.Is(err, symmem.ErrClosed):
		return "closed"
	case errors.Is(err, symmem.ErrTooShort):
		return "short"
	case errors.Is(err, symmem.ErrUsage):
		return "usage"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "context"
	}
	return "other"
}
