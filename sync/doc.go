// Package shmsync is how symwin waits on words of shared memory, and how it
// wakes whoever waits there. (The folder is called sync; the package is not, so
// that the standard library's sync is never shadowed.)
//
// There is one wait loop, Place.Wait, because waiting decides both the latency
// of the whole library and whether an oversubscribed machine works at all. It
// has three phases:
//
//  1. Spin, by time and not by count, and only where every rank has a CPU of
//     its own. Every ten microseconds the machine and the program get a turn.
//  2. Yield: two bursts of sixteen sched_yield. On a full machine this is the
//     cheapest way to hand the CPU to the rank one waits for.
//  3. Park on the rank's Doorbell, a futex that senders ring only when somebody
//     sleeps there; each park is bounded by 1, 10, then 100 ms.
//
// The invariant: a wait ends. It ends with success as soon as its Condition
// holds, and otherwise with the error of its Overseer or of its context, within
// one bounded park at the latest, even if every wake-up is lost and every other
// process is stopped. The package takes words and returns causes; it knows no
// ranks.
//
// The loops are Go, so that the scheduler can preempt them; between bursts of
// raw system calls stands a preemption point (see giveWay), without which
// garbage collection would wait as long as the wait lasts.
package shmsync
