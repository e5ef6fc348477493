//go:build !linux

package launch

import (
	"context"
	"errors"
	"fmt"
)

// Run is there on Linux only.
func Run(_ context.Context, o Options, _ []string) Result {
	if o.Stderr != nil {
		fmt.Fprintf(o.Stderr, "shmrun: %v on this system: it needs Linux\n", errors.ErrUnsupported)
	}
	return Result{ExitCode: 1, Verdict: errors.ErrUnsupported.Error(), Rank: -1}
}
