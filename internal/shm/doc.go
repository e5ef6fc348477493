// Package shm gives processes of one user and one host a file of memory in
// common: it bears, finds, locks, reserves, maps and buries region files, and
// knows nothing of what is written in them.
//
// The invariant: a name in Dir always leads to a whole region or to nothing,
// and only the one who has the right removes it.
//
//   - Whole: a region is sized, written and locked while it has no name
//     (O_TMPFILE); linkat then shows it in one step.
//   - Held: every process that has a region holds a shared lock on its byte 0,
//     on a file description it opened itself. Locks belong to the description
//     (OFD locks), so the kernel drops them when the process dies, however it
//     dies, and no child keeps them (everything is close-on-exec).
//   - Removed: by a holder that has byte 1 exclusively (File.Unlink), or, when
//     nobody holds the region, by one that has byte 0 exclusively (Sweep). Both
//     look again, under the lock, whether the name still means this inode. The
//     two exclude each other, because a holder's shared lock on byte 0 keeps
//     Sweep away; so between that look and the unlink nobody can put another
//     file under the name, and no process ever removes another's region.
//
// Memory is used only after File.Reserve, so a full tmpfs is a *NoSpaceError
// and never a SIGBUS.
//
// Other systems than Linux build; there every operation returns
// errors.ErrUnsupported.
package shm
