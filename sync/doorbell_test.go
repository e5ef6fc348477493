package shmsync

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Two doorbells in a row must not share a cache line.
func TestDoorbellFillsALine(t *testing.T) {
	require.EqualValues(t, 64, unsafe.Sizeof(Doorbell{}))
}

// Nobody sleeps: a sender must not pay for a system call.
func TestRingIsSilentWhereNobodySleeps(t *testing.T) {
	var d Doorbell
	d.Ring()
	require.Zero(t, d.bell.Load())
	d.RingAlways()
	require.EqualValues(t, 1, d.bell.Load(), "an abort rings whoever says what")
}

// Many senders at once find one sleeper: one of them pays, one ring a sleep.
func TestOneRingerPays(t *testing.T) {
	clean(t)
	var d Doorbell
	for round := uint32(1); round <= 500; round++ {
		d.parked.Swap(1)
		var all sync.WaitGroup
		for range 4 {
			all.Go(d.Ring)
		}
		all.Wait()
		require.Equal(t, round, d.bell.Load())
		require.Zero(t, d.parked.Load())
	}
}
