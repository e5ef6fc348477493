// Package symmem is the region: one piece of shared memory that all ranks of a
// job map, in which every rank has a control block and a window at an offset
// that anybody can compute.
//
// It creates and joins regions, forms teams, keeps the liveness of every rank,
// carries aborts, and records what each rank is doing, so that a hung or dead
// job can be explained from outside (Observe).
//
// The invariant: every wait of every rank ends. A rank that dies, stops, leaves,
// gives up or calls something else is noticed by whoever waits for it, and the
// error names it. And nothing is left: the region's name is gone from the file
// system before any Join returns, so no death after that can leave anything
// behind, and the kernel frees the memory with the last process.
//
// Two kinds of callers: programs use Join, Run, World and Team (mostly through
// the front door, package symwin); the engines above use Team.Exchange, Lane and
// Watch, which turn "wait for these words" into "wait, or say precisely why not".
//
// Each shared word of the region has one writer; layout.go says which, who reads
// it, and what orders the accesses.
package symmem
