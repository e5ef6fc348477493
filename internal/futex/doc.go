// Package futex is the thin layer over the kernel's futexes: sleeping on a word
// of shared memory, waking the sleepers, and a robust-list entry through which
// the kernel itself marks a word when the thread that armed it ends.
//
// The invariant it keeps: a call never returns because of something that
// happened to another word, and never hides that the word's value was not the
// expected one. Callers always look at their condition again; nothing here
// says why a sleep ended beyond "it did".
//
// Futexes are shared ones (no FUTEX_PRIVATE_FLAG): the words lie in memory that
// several processes map.
package futex

import "errors"

// OwnerDied, Waiters and TidMask are the fields of a robust futex word as the
// kernel defines them (linux/futex.h): when the owner's thread ends, the kernel
// replaces the thread id by OwnerDied, keeps Waiters, and wakes one sleeper if
// Waiters was set.
const (
	Waiters   = 0x8000_0000
	OwnerDied = 0x4000_0000
	TidMask   = 0x3fff_ffff
)

// ErrPlaceTaken is returned by Arm when the word is not zero: somebody owns it,
// or owned it and died.
var ErrPlaceTaken = errors.New("futex: the robust word is in use")
