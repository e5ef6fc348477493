// Package bench measures symwin on the machine it runs on: latency, barrier and
// all-to-all between real processes, and beside them what the machine itself can
// do at all (limits). It is "shmrun bench"; [Main] is the command, [RankMain] what
// each rank of a measurement runs.
//
// The invariant: a figure that is printed is one that was checked. Every row
// moves data that differs from round to round, and compares every byte that
// arrived outside the clock, so a transfer that was skipped, late or stale is
// counted in the row's "wrong" and makes the command fail.
//
// How time is taken: operations run back to back in blocks of at least 20 µs (2 ms
// where ranks share CPUs),
// of which each rank takes the time; a block took as long as its slowest rank
// says. A row's p50 and p99 are over its blocks, divided by the operations in
// one. So neither the clock nor a barrier's uneven exit is in a figure, and one
// slow rank is not averaged away.
//
// Units: bytes is what one rank sends to one peer; latency is half a round
// trip, received and copied out; times are in µs; K, M, G count in 1024, GB/s
// in 1e9.
package bench
