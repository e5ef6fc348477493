package epoch

// Lap is how many epochs pass before a tag comes round again. It is even, so
// epochs i and i+Lap use the same region and a tag can be stale in one place
// only; that is why tags start at 2 and not at 1.
const Lap = 1<<32 - firstTag

// Never is the tag of memory that was never written, or was cleared: no epoch
// has it. Fresh shared memory is zero, so a fresh block needs no preparation.
const Never uint32 = 0

const firstTag = 2

// Index counts the epochs of one session, from 0. At an epoch each nanosecond
// it would take 584 years to wrap, so it is compared and subtracted freely.
type Index uint64

// Tag is what lines written in epoch i carry: 2 + i mod (2³²−2), never Never.
func (i Index) Tag() uint32 { return firstTag + uint32(i%Lap) }

// Region is which half of a block epoch i uses: 0 when even, 1 when odd. The
// other half may still be read by a receiver that has not ended epoch i−1.
func (i Index) Region() int { return int(i & 1) }

// Wraps tells whether Tag of epoch i+1 is again the first of a lap. Then, and
// only then, ending epoch i is collective: after a barrier, in which all
// members have ended i, everyone clears both regions of its own block, and
// after a second barrier epoch i+1 begins. Without the clearing a line from a
// lap ago, in a slot that was not used since, would pass for a new one. The
// header is not cleared: what it counts are epochs, not tags.
func (i Index) Wraps() bool { return i%Lap == Lap-1 }

// MayWrite tells whether a sender in epoch i may store into the block of a
// member that is known to have ended `ended` epochs: ended + 1 ≥ i, which is
// to say that the member no longer reads epoch i−2, the last in this region.
//
// What is known may be old, because the count only grows: the member's header,
// or the highest epoch k of which a line from it has been received. Such a line
// proves that it had ended k epochs, so who hears from everybody in every epoch
// never needs to look at a header.
func (i Index) MayWrite(ended uint64) bool { return i < 2 || ended >= uint64(i)-1 }
