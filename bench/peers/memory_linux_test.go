package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What others take is not there for a peer.
func TestMemoryBesideOthers(t *testing.T) {
	defer func(was func() (int64, bool)) { memoryRoom = was }(memoryRoom)
	memoryRoom = func() (int64, bool) { return 1 << 40, true }
	job := Job{Op: "latency", Ranks: 2, MaxBytes: 1 << 20}
	for _, name := range Names {
		require.Positive(t, job.Memory(name))
		crowded := job
		crowded.Beside = 1e18
		_, err := Open(t.Context(), name, crowded)
		require.ErrorIs(t, err, ErrCannot, name)
		require.ErrorContains(t, err, "beside 1000000000000000000 of others")
	}
	memoryRoom = func() (int64, bool) { return 1 << 20, true }
	_, err := Open(t.Context(), "pipe", job)
	require.ErrorIs(t, err, ErrCannot)
	require.ErrorContains(t, err, "have 1048576")
}
