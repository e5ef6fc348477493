// Package window gives out the memory of the windows, one per rank, and is the
// only package that computes where in a peer's window something lies.
//
// A window has two ends:
//
//	0                                                              stride
//	┌──────────────────────────────┬──────── free ────────┬──────────────┐
//	│ symmetric heap (the world) → │                      │ ← team areas │
//	└──────────────────────────────┴──────────────────────┴──────────────┘
//
// Allocations of the symmetric heap (Alloc, Window.Free) are collective over the
// world and in one order, so each lies at the same offset in every window: a
// sender finds the receiver's memory by arithmetic alone. Areas (OpenArea,
// Area.Close) belong to one team, whose members may each have another history;
// they lie wherever their rank has room, and the members tell each other the
// offset once, at the opening. So sub-teams cannot make the heaps of two ranks
// drift apart.
//
// The invariant: an address that this package gives out lies in memory that its
// rank has reserved, and inside one allocation of it, for as long as the
// allocation lives; and that memory was zero when the allocation began. Every
// offset and length, whether it comes from the program or was posted by a peer,
// is checked against the bounds before it is added to anything. What cannot be
// given to all is given to none: all ranks vote, return the same error, and go on.
//
// Window is for programs: typed memory, one-sided Put and Get, and signals that
// tell the receiver that what was put before has come (the put/signal windows of
// NCCLX's CTran; OpenSHMEM calls them put-with-signal). Area, Span and Find are
// for the engines above.
package window
