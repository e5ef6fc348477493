// Package epoch is the arithmetic of LL-A2A, the low-latency all-to-all in
// which data and arrival flag share one line: which tag and which region an
// epoch uses, what one line looks like, and where in a receiver's block the
// line of a given sender, element and word lies.
//
// A block is one independent lane of a receiver, counted in 16-byte lines:
//
//	line 0          header: how many epochs this rank has ended
//	1 …   n         region 0, the lines of even epochs
//	1+n … 2n        region 1, the lines of odd epochs        n = Slots(…)
//
// The invariant that the package keeps: between two clearings of a block no tag
// names two epochs, and a tag always names the same region. So a line whose tag
// equals the tag of the epoch that a receiver is in was written in that epoch,
// and no other test is needed. Tags are compared for equality, never for order;
// order is a matter of Index, which is 64 bits wide and does not wrap in the
// life of a machine.
//
// Everything here is a pure function of its arguments: nothing is shared, so
// everything may be called concurrently. Loads and stores, and the waiting,
// belong to whoever owns the memory. The scheme follows NCCL's LL-A2A session
// (ncclLLA2ASession in its device API); what differs is that an index is 64
// bits, that blocks are aligned to 128 bytes, and that a slot belongs to one
// sender. PackedRegionStart gives NCCL's own numbering for comparison.
package epoch
