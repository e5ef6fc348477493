package symmem_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/symwin/symwin/symmem"
)

// An observer sees which team was given up, by whom and why; the others are whole.
func TestObserveRevocations(t *testing.T) {
	job := fmt.Sprintf("revoked-%d", os.Getpid())
	h, err := symmem.NewHost(job, symmem.Geometry{Size: 3, Window: 1 << 20})
	require.NoError(t, err)
	defer h.Close()
	var all sync.WaitGroup
	errs := make([]error, 3)
	for r := range errs {
		all.Go(func() {
			ctx, o := context.Background(), symmem.Options{Job: job, Rank: r, Size: 3, Window: 1 << 20}
			w, err := symmem.JoinWith(ctx, o)
			if err != nil {
				errs[r] = err
				return
			}
			defer w.Close()
			// Ranks 1 and 2 are a team whose rank 0 is world rank 2.
			sub, err := w.Team().Split(ctx, min(r, 1), -r)
			if err == nil {
				err = sub.Barrier(ctx)
			}
			if errs[r] = err; err == nil && r == 1 {
				_ = sub.Revoke(fmt.Errorf("%w: the soup is cold", symmem.ErrTimeout))
			}
		})
	}
	all.Wait()
	require.Equal(t, make([]error, 3), errs)
	s := h.Observe()
	require.Nil(t, s.Abort)
	require.Equal(t, []symmem.Revocation{{Team: s.Ranks[1].Call.Team, AbortInfo: symmem.AbortInfo{
		Author: 1, Kind: symmem.AbortTimeout, Text: "timed out: the soup is cold"}}}, s.Revocations)
	require.NotZero(t, s.Revocations[0].Team)
}
