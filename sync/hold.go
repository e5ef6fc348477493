package shmsync

import "sync/atomic"

// phase names a part of the wait loop, for the tests that keep a wait in one of
// them and watch what the rest of the program can still do.
type phase int32

const (
	phaseNone phase = iota
	phaseSpin
	phaseYield
	phasePark
)

var holding atomic.Int32

// held reports whether a test keeps waits in phase ph. It is asked only where a
// phase would end.
func held(ph phase) bool { return phase(holding.Load()) == ph }
