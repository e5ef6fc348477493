// Package symwin is the front door: all-to-all exchange between the processes of
// one host through one symmetric region of shared memory.
//
// A program joins (Join under shmrun or another launcher, Run for goroutine
// ranks in one process), and calls collectives on a Team with any memory:
//
//	AllToAll   AllToAllv            parts from each to each
//	AllGather  AllGatherv  Gather   a part of each to all, or to a root
//	Scatter    Broadcast            from a root: parts, or the same to all
//	AllReduce  Reduce  ReduceScatter  Sum, Prod, Min, Max, And, Or, Xor
//	Barrier
//
// dst comes before src, as in copy. Lengths follow from the slices: parts have
// equal lengths, in rank order; what does not divide is an error. Roots are ranks
// of the team. All members of the team make the same calls in the same order; one
// goroutine at a time per team, and Team.Split with one color makes a second team
// for a second goroutine. Nothing is allocated in the steady state. In place is
// right where an operation says so, and refused elsewhere.
//
// The engine is chosen by operation, team size and bytes alone, from a table of
// measured crossovers: slots of tagged lines (package lla2a) for small parts,
// copies between flags (package ce) for large ones. Explain tells the choice. A
// destination that lies in a window (Alloc) is written once, by its sender; a
// source in one is read where it lies.
//
// The invariant: a collective that returns nil has done what it says on this
// rank; one that returns an error names what happened and which ranks it was,
// within bounded time. ErrTooShort and ErrNoSpace are agreed: all ranks of the
// team get them and go on. After any other error inside a collective its team is
// revoked, and only World.Close is left to do.
package symwin
