package shm

// Found is a live region: one that a process of this user has open.
type Found struct {
	Pid  int    // the lowest process that has it open
	Fd   int    // its descriptor there: AttachPid(Pid, Fd) opens the region
	Name string // symwin-<uid>-<job>, also when the name is gone from Dir
	Dev  uint64 // with Ino: the inode
	Ino  uint64
	Pids []int // all processes that have it open, ascending
	// Linked tells that the inode still has a name: its job is joining, or all of
	// its ranks died while they were.
	Linked bool
}
