// Package ce is the copy engine: bulk bytes between the members of a team, at
// the speed of plain copies.
//
// Around the copies of one operation stand two flags per edge. ready: the
// receiver tells each sender where it wants the data, a place in its window
// (one copy) or its staging ring (two), and how much it expects. complete: the
// sender counts up what it has copied. So a sender never guesses what another
// rank knows, and nobody writes where it was not invited.
//
// A Stream belongs to a team and is an ordered queue of operations: batches of
// puts into windows (Run), and AllToAllv of any memory for the front door.
//
// The invariant: an operation that returns without error has moved every byte it
// promised, and its ready lines, counters and ring are free for the next: ready
// k+1 is posted only after everything of k has come. No number that a peer wrote
// is used before it is checked against the window or ring it points into.
//
// The idea is NCCL's copy-engine ("zero CTA") collectives over symmetric memory:
// batched copies between ready and complete barriers.
package ce
