// Package doctor looks at what this machine, container and kernel give a job, and
// says in words what is good, what costs something, and what has to be changed.
//
// Invariant: looking and judging are apart. [Gather] finds facts and judges
// nothing; [Judge] is pure, so that what is said about machines nobody here owns is
// tested. Every finding that is not OK says what to do. Gather leaves nothing
// behind: no file, no process, no thread, no binding.
package doctor

// Facts is what was found out. Where a text is an error of the kernel's, "" means
// that it worked. The names in JSON stay; more may come.
type Facts struct {
	Kernel    string   `json:"kernel"` // release: "6.1.0-13-amd64"
	Arch      string   `json:"arch"`   // as Go calls it
	Processor string   `json:"processor"`
	Vectors   []string `json:"vectors"`    // of the instruction sets that the leaves use, those there are
	Hyper     string   `json:"hypervisor"` // "" on bare metal, "yes" where it does not tell its name

	CPUs      string  `json:"cpus"`        // usable, "0-3,8"
	CPUCount  int     `json:"cpu_count"`   // usable
	Online    int     `json:"cpus_online"` // of the machine
	Cores     int     `json:"cores"`       // of the usable CPUs
	Nodes     int     `json:"numa_nodes"`  // of the usable CPUs
	Quota     float64 `json:"cpu_quota"`   // CPUs' worth of time from the cgroup; 0: no limit
	Governors string  `json:"governors"`   // of the usable CPUs, "performance, powersave"; "" where not told
	Steal     float64 `json:"steal"`       // part of the CPUs' time that the host took while the line was probed
	Line      *Line   `json:"line"`        // nil: not probed, one CPU

	MemoryTotal     int64  `json:"memory_total"`
	MemoryAvailable int64  `json:"memory_available"`
	CgroupRoom      *int64 `json:"cgroup_room"`   // what the tightest memory cgroup has to give; nil: no limit
	AddressLimit    int64  `json:"address_limit"` // ulimit -v in bytes; 0: none
	FileLimit       int64  `json:"file_limit"`    // ulimit -f in bytes; 0: none
	OpenFiles       int64  `json:"open_files"`    // ulimit -n

	Shm Shm `json:"shm"`

	PageSize     int    `json:"page_size"`
	HugeShmem    string `json:"shmem_enabled"` // the chosen word of /sys/kernel/mm/transparent_hugepage/shmem_enabled
	Robust       string `json:"robust_futex"`  // error of a thread's end noticed by the kernel
	Clone        string `json:"clone_pidfd"`   // error of starting a process with a pidfd
	Pidfd        string `json:"pidfd_open"`
	Memfd        string `json:"memfd"`            // error of a sealed memfd
	Peer         string `json:"peer_descriptors"` // error of a child's opening our memfd through /proc
	PeerMemory   string `json:"process_vm_readv"` // error of a child's reading our memory
	PtraceScope  int    `json:"ptrace_scope"`     // yama's; 0 where there is none
	Settings     []Set  `json:"settings"`         // the SYMWIN_* variables that are set
	Join         string `json:"join"`             // error of any Join for the variables alone
	Job          string `json:"job"`              // which a program started here would join; "": a world of one
	Gomaxprocs   string `json:"gomaxprocs"`       // the variable
	Proc         string `json:"proc"`             // what is wrong with /proc
	Sys          string `json:"sys"`              // what is wrong with /sys
	PidNamespace bool   `json:"pid_namespace"`    // not the machine's first one, as far as it can be told
}

// Set is a variable of the environment.
type Set struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Error string `json:"error"` // what is wrong with it, "" if nothing
	// Unknown means that it has symwin's prefix, but nobody reads it.
	Unknown bool `json:"unknown,omitempty"`
}

// Shm is the directory in which regions have their names.
type Shm struct {
	Dir        string `json:"dir"`
	Mount      string `json:"mount"`      // the mount point that holds it; "" where that is unknown
	Filesystem string `json:"filesystem"` // "tmpfs"
	Options    string `json:"options"`    // of its mount
	Size       int64  `json:"size"`       // 0: unlimited
	Free       int64  `json:"free"`
	Inodes     int64  `json:"inodes_free"` // -1: unlimited
	Error      string `json:"error"`       // of making a region there
	ReadOnly   bool   `json:"read_only"`
}

// Line is how long one cache line takes from one CPU to another.
type Line struct {
	From   int     `json:"from"` // CPU
	To     int     `json:"to"`
	Median float64 `json:"median_ns"` // half a round trip
	Fast   float64 `json:"fast_ns"`   // the fastest twentieth of short looks
	Slow   float64 `json:"slow_ns"`   // the slowest twentieth
	Looks  int     `json:"looks"`
}
