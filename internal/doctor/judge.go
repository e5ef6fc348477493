package doctor

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/symwin/symwin/internal/env"
)

// Level says how much a finding matters.
type Level string

// The levels. Only an Error makes symwin unusable here.
const (
	OK      Level = "ok"
	Note    Level = "note"    // works; worth knowing
	Warning Level = "warning" // works worse than it could
	Error   Level = "error"   // a job cannot run
)

// Finding is the judgement on one matter.
type Finding struct {
	Name   string `json:"name"` // stays the same
	Level  Level  `json:"level"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"` // what to do; "" where nothing has to be done
}

// Usable reports whether a job can run: no finding is an Error.
func Usable(findings []Finding) bool {
	for _, f := range findings {
		if f.Level == Error {
			return false
		}
	}
	return true
}

// Judge says what the facts mean, always in the same order, one finding for each
// matter. It is pure.
func Judge(f Facts) []Finding {
	var all []Finding
	for _, matter := range []struct {
		name  string
		judge func(Facts) verdict
	}{
		{"kernel", kernel}, {"processor", processor}, {"cpus", cpus}, {"quota", quota}, {"numa", numa},
		{"governor", governor}, {"machine", machine}, {"line", line},
		{"memory", memory}, {"shm", shmDir}, {"limits", limits}, {"pages", pages},
		{"robust", robust}, {"proc", proc}, {"pidfd", pidfd}, {"memfd", memfd}, {"peers", peers}, {"ptrace", ptrace},
		{"settings", settings},
	} {
		v := matter.judge(f)
		all = append(all, Finding{matter.name, v.level, v.text, v.remedy})
	}
	return all
}

type verdict struct {
	level        Level
	text, remedy string
}

func ok(format string, args ...any) verdict {
	return verdict{level: OK, text: fmt.Sprintf(format, args...)}
}

// roomEnough is what auto asks of /dev/shm before it puts windows there.
const roomEnough = 256 << 20

func kernel(f Facts) verdict {
	major, minor := release(f.Kernel)
	before := func(a, b int) bool { return major < a || major == a && minor < b }
	switch {
	case before(5, 4):
		return verdict{Error, "Linux " + f.Kernel + " is older than 5.4: it cannot tell a launcher of the end of a process by its descriptor",
			"use Linux 5.4 or later; 5.14 or later for fast allocations"}
	case before(5, 14):
		return verdict{Note, "Linux " + f.Kernel + " lacks MADV_POPULATE_WRITE (5.14): pages of a new allocation are touched one by one",
			"nothing has to be done; Alloc of large windows is slower than it could be"}
	case before(6, 3):
		return ok("Linux %s; before 6.3 memfds are made without MFD_NOEXEC_SEAL, which changes nothing here", f.Kernel)
	}
	return ok("Linux %s: nothing falls back", f.Kernel)
}

// release reads the two numbers that a kernel's release begins with.
func release(text string) (major, minor int) {
	a, rest, _ := strings.Cut(text, ".")
	b, _, _ := strings.Cut(rest, ".")
	b, _, _ = strings.Cut(b, "-")
	major, _ = strconv.Atoi(a)
	minor, _ = strconv.Atoi(strings.TrimRight(b, "+"))
	return major, minor
}

func processor(f Facts) verdict {
	name := f.Processor
	if name == "" {
		name = "a processor that does not tell its name"
	}
	switch {
	case f.Arch == "amd64" && len(f.Vectors) > 0:
		return ok("%s, %s with %s", name, f.Arch, strings.Join(f.Vectors, " and "))
	case f.Arch == "amd64":
		return verdict{Note, name + ", amd64 without AVX2: blocks are moved word by word",
			"nothing has to be done; in a virtual machine, give it the host's processor model"}
	case f.Arch == "arm64":
		return verdict{Note, name + ", arm64: lines are moved by Go's atomics, without assembly",
			"nothing has to be done; small blocks are slower than on amd64"}
	}
	return verdict{Note, name + ", " + f.Arch + ": symwin is tested on amd64 and arm64",
		"nothing has to be done if the processor stores 8 bytes at once; run make test"}
}

func cpus(f Facts) verdict {
	text := fmt.Sprintf("%s usable (%s)", count(f.CPUCount, "CPU"), f.CPUs)
	switch {
	case f.CPUCount <= 1:
		return verdict{Warning, text + ": ranks take turns, so each exchange costs a switch from one to the other",
			"works; for speed give a CPU to each rank (taskset, docker --cpuset-cpus, the cores of the virtual machine)"}
	case f.CPUCount < f.Online:
		return verdict{Note, fmt.Sprintf("%s of the machine's %d: an affinity or a cpuset keeps the others away", text, f.Online),
			"nothing, if that is meant; else look for taskset, docker --cpuset-cpus, or the batch system's binding"}
	case f.Cores < f.CPUCount:
		return verdict{Note, fmt.Sprintf("%s on %s: two ranks on one core share its caches and its time", text, count(f.Cores, "core")),
			fmt.Sprintf("try shmrun --bind-to core -n %d beside shmrun -n %d; which is faster depends on the program", f.Cores, f.CPUCount)}
	}
	return ok("%s", text)
}

func quota(f Facts) verdict {
	whole := max(1, int(f.Quota))
	switch {
	case f.Quota == 0 && cmp.Or(f.Proc, f.Sys) != "":
		return unknown(f.Proc, f.Sys)
	case f.Quota == 0:
		return ok("no limit on CPU time")
	case f.Quota >= float64(f.CPUCount):
		return ok("CPU time of %s, as much as there is", number(f.Quota))
	case f.Gomaxprocs != "":
		return verdict{Warning, fmt.Sprintf("the cgroup gives the time of %s for the %s usable here, and GOMAXPROCS=%s says how many ranks shmrun starts: once the time is used up all ranks stand still until the next period, 0.1 s",
			number(f.Quota), count(f.CPUCount, "CPU"), f.Gomaxprocs),
			fmt.Sprintf("run no more than %s (shmrun -n %d), or raise the quota (docker --cpus, limits.cpu in Kubernetes), or give whole CPUs (--cpuset-cpus)", count(whole, "rank"), whole)}
	}
	return verdict{Warning, fmt.Sprintf("the cgroup gives the time of %s for the %s usable here: ranks that wait by spinning use it up, and then all stand still until the next period, 0.1 s",
		number(f.Quota), count(f.CPUCount, "CPU")),
		fmt.Sprintf("run no more than %s, which is shmrun's default here; or raise the quota (docker --cpus, limits.cpu in Kubernetes), or give whole CPUs (--cpuset-cpus)", count(whole, "rank"))}
}

func numa(f Facts) verdict {
	switch {
	case f.Nodes <= 1 && f.Sys != "":
		return unknown(f.Sys)
	case f.Nodes <= 1:
		return ok("one NUMA node")
	}
	return verdict{Note, fmt.Sprintf("%d NUMA nodes: a window's memory lies on the node of its rank, as long as the rank is bound", f.Nodes),
		"nothing; shmrun binds ranks inside a node where they fit. --bind-to none gives that up"}
}

func governor(f Facts) verdict {
	switch {
	case f.Governors == "" && f.Sys != "":
		return unknown(f.Sys)
	case f.Governors == "":
		return ok("the kernel does not tell a frequency governor, which is usual in a virtual machine")
	case f.Governors == "performance":
		return ok("performance")
	}
	return verdict{Note, f.Governors + ": a CPU that has slept begins slowly, so single exchanges take longer than measured ones",
		"before measuring: cpupower frequency-set -g performance"}
}

func machine(f Facts) verdict {
	steal := ""
	if f.Steal >= 0.05 {
		steal = fmt.Sprintf("; the host took %.0f %% of the CPUs' time while this was looked at", 100*f.Steal)
	}
	switch {
	case f.Hyper == "" && f.Proc == noProc:
		return unknown(f.Proc)
	case f.Hyper == "" && steal == "":
		return ok("no virtual machine")
	case steal != "":
		return verdict{Warning, "a virtual machine" + called(f.Hyper) + steal,
			"measure at another time, or on a host that does not share its CPUs (dedicated or pinned virtual CPUs)"}
	}
	return verdict{Note, "a virtual machine" + called(f.Hyper) + ": its host may move a CPU to another place at any time, and then a line takes several times as long",
		"compare figures of one run only; \"shmrun bench\" tells the state of each row"}
}

func called(hypervisor string) string {
	if hypervisor == "" || hypervisor == "yes" {
		return ""
	}
	return " (" + hypervisor + ")"
}

// far is beyond what a line takes between two cores that share a cache.
const far = 250

// jumps is the ratio of slow to fast looks that repeats in one placement stay
// well under; placements differ by 2 and more.
const jumps = 1.6

func line(f Facts) verdict {
	if f.Line == nil {
		return ok("not probed: that needs two CPUs")
	}
	l := *f.Line
	text := fmt.Sprintf("a line goes from CPU %d to CPU %d in %.0f ns (%.0f to %.0f in %d looks)", l.From, l.To, l.Median, l.Fast, l.Slow, l.Looks)
	switch {
	case l.Slow > jumps*l.Fast:
		return verdict{Note, text + ": the distance changes while one looks",
			"nothing has to be done for a program; compare figures of one state only, and close what else runs here"}
	case l.Median > far:
		return verdict{Note, text + ": far apart, as on two sockets or on virtual CPUs that share nothing",
			"put the ranks together if there is a choice (numactl -N 0, taskset); \"shmrun bench limits\" shows all pairs where there are more"}
	}
	return ok("%s", text)
}

func memory(f Facts) verdict {
	text := fmt.Sprintf("%s available of %s", size(f.MemoryAvailable), size(f.MemoryTotal))
	switch {
	case f.MemoryTotal == 0:
		return unknown(f.Proc)
	case f.CgroupRoom == nil && cmp.Or(f.Proc, f.Sys) != "":
		v := unknown(f.Proc, f.Sys)
		v.text = text + ", limits by a cgroup are " + v.text
		return v
	case f.CgroupRoom == nil:
		return ok("%s, no limit by a cgroup", text)
	}
	room := *f.CgroupRoom
	text += fmt.Sprintf("; the memory cgroup has room for %s", size(room))
	remedy := "allocate less, or raise the limit (docker --memory, limits.memory in Kubernetes, srun --mem). Shared memory counts as memory of the container that touches it first"
	switch {
	case room < 16<<20:
		return verdict{Error, text + ": a region's control blocks do not fit with the programs", remedy}
	case room < roomEnough:
		return verdict{Warning, text + ": symwin refuses an Alloc that does not fit, but a program that touches more is killed by the kernel", remedy}
	}
	return ok("%s", text)
}

func shmDir(f Facts) verdict {
	s := f.Shm
	text := fmt.Sprintf("%s: %s free of %s on %s (%s)", s.Dir, size(s.Free), size(s.Size), s.Filesystem, s.Options)
	if s.Size == 0 {
		text = fmt.Sprintf("%s: no limit of its own, %s free on %s (%s)", s.Dir, size(s.Free), s.Filesystem, s.Options)
	}
	elsewhere := fmt.Sprintf("set %s to a directory on a tmpfs that can be written to", env.KeyShmDir)
	switch {
	case s.ReadOnly:
		return verdict{Error, text + ": it is read-only, so a job can have no name there",
			"mount -o remount,rw " + cmp.Or(s.Mount, s.Dir) + " (docker, podman: --tmpfs /dev/shm; Kubernetes: an emptyDir with medium: Memory there), or " + elsewhere}
	case s.Filesystem == "":
		return verdict{Error, s.Dir + ": " + s.Error, "make the directory (mkdir; mount -t tmpfs tmpfs " + s.Dir + "), or " + elsewhere}
	case s.Inodes == 0:
		return verdict{Error, text + ": no inode is left", "remove files there (df -i), or " + elsewhere}
	case s.Error != "":
		return verdict{Error, text + ": no region can be made: " + s.Error, elsewhere + ", or make room there (df -h, df -i)"}
	case s.Filesystem != "tmpfs":
		return verdict{Warning, text + ": what is written goes to a disk in the end, which can hold up the ranks",
			elsewhere + ", as /dev/shm usually is"}
	case s.Size != 0 && s.Free < roomEnough:
		return verdict{Note, text + ": small, so --backing auto puts the windows into a memfd, which memory alone limits",
			"nothing has to be done; for windows in " + s.Dir + " make it larger: docker --shm-size=1g, or mount -o remount,size=1g " + cmp.Or(s.Mount, s.Dir)}
	}
	return ok("%s", text)
}

func limits(f Facts) verdict {
	switch {
	case f.AddressLimit != 0 && f.AddressLimit < 64<<30:
		return verdict{Warning, fmt.Sprintf("addresses are limited to %s (ulimit -v): every rank maps the windows of all, 1 GiB each unless --window says less", size(f.AddressLimit)),
			"ulimit -v unlimited, or a smaller --window"}
	case f.FileLimit != 0 && f.FileLimit < 64<<30:
		return verdict{Warning, fmt.Sprintf("files are limited to %s (ulimit -f), and a region is one file as long as all windows", size(f.FileLimit)),
			"ulimit -f unlimited, or a smaller --window"}
	case f.OpenFiles < 256:
		return verdict{Warning, fmt.Sprintf("%d open files are allowed (ulimit -n): shmrun needs up to five for a rank", f.OpenFiles), "ulimit -n 1024, or more for many ranks"}
	}
	return ok("enough addresses, file size and %d open files", f.OpenFiles)
}

func pages(f Facts) verdict {
	tables := int64(8) << 30 / int64(max(f.PageSize, 1)) // 8 bytes for each page
	cost := fmt.Sprintf("each rank's page tables take %s for each GiB of the region it touches", size(tables))
	page := size(int64(f.PageSize))
	remount := ""
	if f.Shm.Filesystem == "tmpfs" && f.Shm.Mount != "" {
		remount = "mount -o remount,huge=always " + f.Shm.Mount + ", or "
	}
	switch huge := strings.Contains(f.Shm.Options, "huge=") && !strings.Contains(f.Shm.Options, "huge=never"); {
	case huge:
		return ok("pages of %s, and %s is mounted with huge ones: page tables cost next to nothing", page, f.Shm.Dir)
	case f.HugeShmem == "always" || f.HugeShmem == "force" || f.HugeShmem == "within_size":
		return ok("pages of %s, and huge ones for memfds (shmem_enabled is %s): with --backing memfd page tables cost next to nothing; elsewhere %s", page, f.HugeShmem, cost)
	case f.HugeShmem == "" && f.Sys != "":
		return unknown(f.Sys)
	case f.HugeShmem == "":
		return ok("pages of %s; no huge pages for shared memory in this kernel: %s", page, cost)
	}
	return verdict{Note, fmt.Sprintf("pages of %s, no huge ones for shared memory (shmem_enabled is %s): %s", page, f.HugeShmem, cost),
		"nothing, for windows that are not large; else as root " + remount + "write \"always\" to /sys/kernel/mm/transparent_hugepage/shmem_enabled and use --backing memfd"}
}

func robust(f Facts) verdict {
	switch {
	case f.Robust == "":
		return ok("the kernel reports a rank's death at once")
	case f.Pidfd == "":
		return verdict{Note, "robust futexes: " + f.Robust + ": deaths are noticed by pidfd instead, within 100 ms and 40 ms more for each GiB the dead had touched",
			"nothing has to be done; allow set_robust_list in the seccomp profile for faster news"}
	}
	return verdict{Warning, "robust futexes: " + f.Robust + "; pidfd_open: " + f.Pidfd + ": a rank's death is found by looking into /proc every 20 ms",
		"allow set_robust_list, or pidfd_open, in the seccomp profile (docker --security-opt seccomp=FILE); under shmrun the launcher notices deaths in any case"}
}

// What is wrong with a /proc or /sys that is not there, and with somebody else's.
const (
	noProc    = "there is no /proc"
	otherProc = "/proc shows the processes of another PID namespace"
	noSys     = "there is no /sys"
)

// unknown is the verdict on what cannot be read; the first reason counts.
func unknown(why ...string) verdict {
	switch first := cmp.Or(why...); first {
	case noSys:
		return verdict{Note, "unknown: " + first, "mount -t sysfs sysfs /sys (docker and Kubernetes do it)"}
	case "":
		return verdict{Note, "unknown: this /proc does not tell", "nothing has to be done"}
	default:
		return verdict{Note, "unknown: " + first, "see proc"}
	}
}

func proc(f Facts) verdict {
	const remedy = "mount -t proc proc /proc (unshare --mount-proc; docker and Kubernetes do it)"
	switch f.Proc {
	case "":
		return ok("/proc shows this PID namespace")
	case otherProc:
		return verdict{Warning, f.Proc + ": \"shmrun ps\", --backing memfd and some of what is said here do not work", remedy}
	}
	return verdict{Error, f.Proc + ": neither a region nor shmrun can do without", remedy}
}

func pidfd(f Facts) verdict {
	switch {
	case f.Proc != "" && f.Clone != "":
		return verdict{Note, "not tried without a /proc", "see proc"}
	case f.Clone != "":
		return verdict{Error, "a process started with a pidfd: " + f.Clone + ": shmrun cannot watch its ranks",
			"use Linux 5.4 or later, without a seccomp profile that refuses clone or waitid; other launchers, and SYMWIN_JOB, SYMWIN_RANK and SYMWIN_SIZE by hand, work without"}
	case f.Pidfd != "" && f.Robust == "":
		return verdict{Note, "pidfd_open: " + f.Pidfd + ": it is only the fallback for robust futexes, which work",
			"nothing; do not set SYMWIN_LIVENESS=pidfd"}
	case f.Pidfd != "":
		return verdict{Warning, "pidfd_open: " + f.Pidfd, "see robust"}
	}
	return ok("a process's end can be waited for")
}

func memfd(f Facts) verdict {
	if f.Memfd == "" {
		return ok("sealed memfds can be made (--backing memfd)")
	}
	small := f.Shm.Error != "" || f.Shm.Size != 0 && f.Shm.Free < roomEnough
	remedy := "allow memfd_create and its seals in the seccomp profile, or make /dev/shm large enough (docker --shm-size=1g) and use --backing shm"
	if small {
		return verdict{Error, "memfd: " + f.Memfd + ", and " + f.Shm.Dir + " is too small to do without", remedy}
	}
	return verdict{Note, "memfd: " + f.Memfd + ": only --backing memfd needs it", remedy}
}

func peers(f Facts) verdict {
	if f.Proc != "" {
		return verdict{Note, "descriptors of another process cannot be found through this /proc", "see proc"}
	}
	if f.Memfd != "" {
		return ok("not tried without a memfd")
	}
	if f.Peer == "" {
		return ok("ranks of one user find each other's descriptors in /proc")
	}
	where := ""
	if f.PidNamespace {
		where = " (this is a PID namespace of its own)"
	}
	level, why := Warning, ": --backing memfd and \"shmrun ps\" do not work"
	if f.Shm.Size != 0 && f.Shm.Free < roomEnough {
		level, why = Error, fmt.Sprintf(": --backing memfd does not work, and auto chooses it, because %s is small", f.Shm.Dir)
	}
	return verdict{level, "descriptors of another process" + where + ": " + f.Peer + why,
		"mount /proc (mount -t proc proc /proc), give all ranks one PID namespace and one user (shareProcessNamespace: true in Kubernetes, docker --pid=container:NAME), or use --backing shm with a large /dev/shm"}
}

func ptrace(f Facts) verdict {
	scope := "no ptrace restrictions"
	if f.PtraceScope > 0 {
		scope = fmt.Sprintf("yama.ptrace_scope is %d", f.PtraceScope)
	}
	switch {
	case f.Proc == noProc:
		return unknown(f.Proc)
	case f.PeerMemory != "":
		return verdict{Note, scope + "; process_vm_readv of another rank: " + f.PeerMemory + ": data in private memory is copied twice, through shared memory",
			"nothing has to be done; for one copy sysctl kernel.yama.ptrace_scope=0 (docker --cap-add SYS_PTRACE), or keep large data in windows (symwin.Alloc)"}
	case f.PtraceScope > 1: // and yet this process may: it has the capability
		return verdict{Note, scope + ": no debugger attaches to a rank that hangs", "\"shmrun ps -v\" tells what ranks wait for without one"}
	}
	return ok("%s; process_vm_readv works: large data in private memory is copied once", scope)
}

func settings(f Facts) verdict {
	var all []string
	for _, s := range f.Settings {
		if s.Error != "" {
			return verdict{Error, s.Error, "unset " + s.Name + ", or correct it; \"shmrun help env\" tells what it means"}
		}
		all = append(all, s.Name+"="+s.Value)
	}
	if f.Join != "" {
		return verdict{Error, "a program started here cannot join: " + f.Join,
			"\"shmrun help env\" tells what symwin's variables mean, docs/containers.md those of other launchers"}
	}
	if f.Job != "" {
		return verdict{Warning, "a program started here takes itself for a rank of job " + f.Job + " (" + cmp.Or(strings.Join(all, " "), "by another launcher's variables") + ")",
			"right inside a job; else start it without the launcher's variables (env -u): " + strings.Join([]string{env.KeyJob, env.KeyRank, env.KeySize, env.KeyHosted}, " ") +
				", or those in docs/containers.md"}
	}
	for _, s := range f.Settings {
		if s.Unknown {
			return verdict{Warning, "nothing in symwin reads " + s.Name, "look for the right name in \"shmrun help env\", or unset " + s.Name}
		}
	}
	if len(all) == 0 {
		return ok("no SYMWIN_* variable is set: defaults (\"shmrun help env\")")
	}
	return ok("%s", strings.Join(all, " "))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// number writes so many CPUs, also parts of one.
func number(cpus float64) string {
	if cpus == 1 {
		return "1 CPU"
	}
	return strconv.FormatFloat(cpus, 'g', 3, 64) + " CPUs"
}

// size writes bytes as a person would.
func size(n int64) string {
	if n == math.MaxInt64 {
		return "any amount"
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	unit, v := 0, float64(n)
	for v >= 1024 && unit < len(units)-1 {
		unit, v = unit+1, v/1024
	}
	return fmt.Sprintf("%s %s", strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64), units[unit])
}
