// Package lla2a is the low-latency engine: slots of epoch-tagged lines that a
// sender writes straight into the receiver's window. Data and flag arrive
// together in one cache miss, because the tag of their epoch (package epoch)
// stands behind the data in the same cache line; there is no separate flag and
// no fence, and the order of a store with release is all there is to keep.
//
// A Session is the element interface: Send, Recv, Bcast, RecvAll, RecvReduce,
// EndEpoch, for any pointer-free type. Blocks carries small blocks of bytes for
// the front door's collectives, in slots that begin with a tagged cache line, or
// through common memory where ranks share CPUs.
//
// The invariant: a receive returns what the named sender sent in this epoch, or
// an error. Slot j of sender s is at one place that nobody but s writes, so the
// address proves the sender; the tag proves the epoch; and a sender enters a
// region of a receiver's block again only when it knows that the receiver has
// ended the epoch that used it last (Session.Send), so nothing is overwritten
// that could still be wanted. spec/epoch.pml checks it.
//
// What a dense epoch of a session costs a rank of n, an element of c cache lines
// to and from each other one:
//
//	             misses           stores            locked instructions
//	Send    each c, for writing   element and tag   –
//	Recv    each c, for reading   –                 1 in the first that waits
//	EndEpoch     0                1                 1 where ranks share CPUs
//	together     2·c·(n−1)        (n−1) elements    1, or 2
//	                              and tags, and 1
//
// The header is in its owner's cache, and a doorbell's word in everybody's, as
// long as nobody has to look for room or sleeps. Elements of up to 8 bytes lie
// four to a cache line: with one slot for each peer a line of four senders may
// travel up to four times, at least once. (Larger ones share a line with
// others of the same sender only.) This is counted on paper: the virtual machines
// at hand give perf no counters, and valgrind does not run the Go runtime. What
// they do show is time: one element one way takes 1.0 to 1.5 times
// as long as a bare line each way (a miss for writing, then one for reading), and
// the instructions of an epoch without a miss about 50 ns (BenchmarkAlone).
//
// Misses for writing cost little where the line is fetched before it is stored: a
// call of Blocks that ends, and a receive of a Session that waits, begin to fetch
// what they would store next if all went on as it did (PREFETCHW). Only the line
// that its receiver is looking at cannot be had before: it would be back at once.
//
// The idea and the line are NCCL's (LL protocol, LL-A2A of its device API).
package lla2a
