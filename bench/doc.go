// Package bench measures symwin on the machine it runs on, between real processes,
// and beside every figure what the machine itself can do (limits) and what others
// reach (package peers). It is "shmrun bench"; [Main] is the command, [RankMain]
// what each rank of a measurement runs.
//
// The invariant: a figure that is printed is one that was checked, and belongs to
// the state of the machine that stands beside it. Every row moves data that
// differs from round to round, and compares every byte that arrived outside the
// clock, so a transfer that was skipped, late or stale is counted in the row's
// "#wrong" and makes the command fail. And what is compared, ours, limits and
// peers, was measured in turns between looks at the placement of the CPUs that saw
// the same; otherwise the row is measured again or marked "moved".
//
// How it is made: the process that the user started drives (driver). It opens a
// stint with the ranks (crew) for each row, takes slices of it and of everything
// that is compared, and writes the row (output). The ranks carry out its commands
// and sleep in between, so that a peer has the CPUs to itself. An operation is an
// entry of the table ops in a file of its own; an engine that comes later appends
// its way to the operations it can carry.
//
// How time is taken: operations run back to back in blocks of at least 20 µs (2 ms
// where ranks share CPUs), of which each rank takes the time; a block took as long
// as its slowest rank says. So neither the clock nor a barrier's uneven exit is in
// a figure, and one slow rank is not averaged away. What blocks average is shown
// by --tails, single operations in a pass of their own.
//
// Units: bytes is what one rank sends to one peer; latency and put are half a round
// trip; times are in µs; K, M, G count in 1024, GB/s in 1e9; algbw is the
// operation's size by its time and busbw that by nccl-tests' factors.
package bench
