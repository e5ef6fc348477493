// Package line holds the assembly leaves under the engines: bounded pieces of
// work that Go cannot express at the cost the hardware allows. Each leaf has a
// twin in plain Go over sync/atomic, chosen by the build tag noasm, by the race
// detector and on processors without a leaf; tests hold the two against each
// other.
//
// The invariant: a leaf never waits. It does a fixed, small amount of work and
// returns, because code in assembly cannot be preempted by the Go scheduler.
package line
