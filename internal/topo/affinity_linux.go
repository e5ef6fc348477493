package topo

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Usable returns the CPUs that the calling thread may run on, in order.
func Usable() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	ids := make([]int, 0, set.Count())
	for id := 0; len(ids) < cap(ids); id++ {
		if set.IsSet(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Bind restricts the calling thread, and what it starts from now on, to the
// given CPUs. The caller has locked its goroutine to the thread.
func Bind(ids []int) error {
	var set unix.CPUSet
	for _, id := range ids {
		set.Set(id)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("sched_setaffinity to CPUs %s: %w", FormatList(ids), err)
	}
	return nil
}

// Here returns the usable CPUs with their places in this machine.
func Here() (Machine, error) {
	ids, err := Usable()
	if err != nil {
		return nil, err
	}
	return Read(os.DirFS("/sys"), ids)
}

// HereQuota is the [Quota] of this process.
func HereQuota() (cpus float64, limited bool) {
	self, _ := os.ReadFile("/proc/self/cgroup")
	return Quota(string(self), os.DirFS("/sys/fs/cgroup"))
}
