package shmsync

import (
	"math"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/futex"
)

// Doorbell is the word a rank sleeps on, with the word that says whether anybody
// does. It fills one cache line: senders read parked at the end of every
// operation, so nothing that changes often may share the line.
//
// parked: set by the rank's waiters (exchange, a full barrier), cleared by the
// one waker that wins the compare-and-swap. bell: counts rings; the futex word.
//
// Why no wake-up is lost: the waiter reads bell, sets parked by an exchange, and
// then looks at its condition; the sender stores its words, passes a locked
// instruction, and then reads parked. Of two such sequences at least one sees
// the other's store (Dekker): either the waiter finds the words, or the sender
// finds parked and rings, and a ring after the waiter's read of bell makes
// futex_wait return at once. On amd64 XCHG and LOCK ADD are full barriers; on
// arm64 sync/atomic's are acquire-release RMWs (LSE "AL" forms or LDAXR/STLXR
// loops), and the loads behind them are LDAR, which does not pass an earlier
// STLR or RMW of that kind. spec/parking.pml checks it.
//
// The zero value, and so fresh shared memory, is a doorbell nobody sleeps on.
type Doorbell struct {
	parked atomic.Uint32
	bell   atomic.Uint32
	_      [56]byte
}

// Ring wakes the rank's sleepers if there are any. The caller has passed a full
// barrier since it stored what they wait for. Whoever wins the swap pays for the
// system call; everybody else goes on.
func (d *Doorbell) Ring() {
	if d.parked.Load() != 0 {
		d.ring()
	}
}

// ring is apart so that Ring inlines into the loop over a team's members.
func (d *Doorbell) ring() {
	if d.parked.CompareAndSwap(1, 0) {
		failpoint.Hit(failpoint.BellSwapped)
		d.RingAlways()
	}
}

// RingAlways wakes the sleepers without looking at parked: for aborts, since a
// waker may have died between its swap and its wake.
func (d *Doorbell) RingAlways() {
	d.bell.Add(1)
	futex.Wake(wordOf(&d.bell), math.MaxInt32)
}
