package shmsync

// Phase is a part of the wait loop, named for the tests in processes of their
// own.
type Phase = phase

// The phases a wait can be held in; PhaseNone lets it go on.
const (
	PhaseNone  = phaseNone
	PhaseSpin  = phaseSpin
	PhaseYield = phaseYield
	PhasePark  = phasePark
)

// Hold keeps all waits of this process in phase ph.
func Hold(ph Phase) { holding.Store(int32(ph)) }

// Asleep reports whether a waiter has said that it sleeps, or is about to.
func (d *Doorbell) Asleep() bool { return d.parked.Load() != 0 }
