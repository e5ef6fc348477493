package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// around is a command that is no operation: it stands where an operation's name
// does, and has a few of the flags.
type around struct {
	name, arguments, text string
	flags                 []string
	run                   func(ctx context.Context, q *request, args []string, stdout, stderr io.Writer, open opener) int
}

// arounds is the table. It is filled by init, since help, which they may end in,
// shows it.
var arounds []*around

func init() { arounds = []*around{tour, comparison} }

func findAround(name string) *around {
	for _, c := range arounds {
		if c.name == name {
			return c
		}
	}
	return nil
}

// takes reports whether a flag goes with c, or, where c is nil, with an operation.
func (c *around) takes(flag string) bool {
	if c == nil {
		return flag != "quick" && flag != "fail-over"
	}
	return slices.Contains(c.flags, flag)
}

// suits says which flag does not go with c, or, where c is nil, with an operation.
func (q *request) suits(c *around) error {
	for _, f := range q.given {
		switch {
		case c.takes(f.name):
		case c != nil:
			return fmt.Errorf("%s has no --%s; leave it out", c.name, f.name)
		default:
			return fmt.Errorf("an operation has no --%s; that goes with \"all\" or \"compare\"", f.name)
		}
	}
	return nil
}
