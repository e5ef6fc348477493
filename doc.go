// Package symwin is the front door: all-to-all exchange between the processes of
// one host through one symmetric region of shared memory.
//
// A program joins (Join under shmrun or another launcher, Run for goroutine
// ranks in one process), and calls collectives on a Team with any memory. The
// engine is chosen by operation, team and size alone: slots of tagged lines
// (package lla2a) for small blocks, copies between flags (package ce) for large
// ones; a destination that lies in a window is written once, by its sender.
//
// The invariant: a collective that returns nil has done what it says on this
// rank; one that returns an error names what happened and which ranks it was,
// within bounded time. ErrTooShort and ErrNoSpace are agreed: all ranks of the
// team get them and go on. After any other error inside a collective its team is
// revoked, and only World.Close is left to do.
package symwin
