// Package lla2a is the low-latency engine: slots of epoch-tagged 16-byte lines
// that a sender writes straight into the receiver's window. Data and flag arrive
// together in one cache miss, because every 8-byte half of a line carries the
// tag of its epoch (package epoch); there is no separate flag, no fence and no
// order to keep.
//
// A Session is the element interface: Send, Recv, Bcast, RecvAll, EndEpoch, for
// any pointer-free type. Blocks carries small blocks of bytes for the front
// door's collectives, in slots that begin with a tagged cache line, or through
// common memory where ranks share CPUs.
//
// The invariant: a receive returns what the named sender sent in this epoch, or
// an error. Slot j of sender s is at one place that nobody but s writes, so the
// address proves the sender; the tag proves the epoch; and a sender enters a
// region of a receiver's block again only when it knows that the receiver has
// ended the epoch that used it last (Session.Send), so nothing is overwritten
// that could still be wanted.
//
// The idea and the line are NCCL's (LL protocol, LL-A2A of its device API).
package lla2a
