package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What others take, and what the memory cgroup allows, is not there for a peer.
func TestMemoryBesideOthers(t *testing.T) {
	if availableMemory() == 0 {
		t.Skip("the memory is not known")
	}
	job := Job{Op: "latency", Ranks: 2, MaxBytes: 1 << 20}
	for _, name := range Names {
		require.Positive(t, job.Memory(name))
		crowded := job
		crowded.Beside = 1e18
		_, err := Open(t.Context(), name, crowded)
		require.ErrorIs(t, err, ErrCannot, name)
		require.ErrorContains(t, err, "beside 1000000000000000000 of others")
	}
	defer func() { cgroupRoom = availableCgroup }()
	cgroupRoom = func() (int64, bool) { return 1 << 20, true }
	_, err := Open(t.Context(), "pipe", job)
	require.ErrorIs(t, err, ErrCannot)
	require.ErrorContains(t, err, "have 1048576")
}

var availableCgroup = cgroupRoom
