// Package guardian is a process of its own, this program started again, that does
// what a launcher killed by SIGKILL cannot do any more. It reads a pipe whose one
// write end the launcher holds: first the number of each rank's process group,
// at last a zero when the launcher has cleared up itself. The end of the pipe
// without a zero means that the launcher is dead.
//
// The kernel kills the ranks themselves (Pdeathsig); the guardian kills what they
// started, as far as it stayed in their process groups, and takes away the name
// that the region has while ranks join. What may escape: a process that left its
// group, and one that a rank started within the microseconds between its own
// start and the launcher's word about it.
//
// Invariant: the package imports next to nothing. Every start of a job starts the
// guardian too, which runs the initialisers of all that is linked before this
// package and of nothing behind it.
package guardian
