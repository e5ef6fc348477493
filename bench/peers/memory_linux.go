package peers

import "golang.org/x/sys/unix"

// availableShared is what /dev/shm can still take, or 0 where there is none.
func availableShared() int64 {
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) != nil {
		return 0
	}
	return int64(fs.Bavail) * fs.Bsize
}
