package doctor

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"github.com/symwin/symwin"
	"github.com/symwin/symwin/internal/env"
	"github.com/symwin/symwin/internal/launch"
	"github.com/symwin/symwin/internal/shm"
	"github.com/symwin/symwin/internal/topo"
)

// Gather looks at everything, which takes about half a second. What cannot be
// found out is left at its zero value, with Proc or Sys to tell that from a finding,
// so there is no error on Linux.
func Gather() (Facts, error) {
	f := Facts{Vectors: []string{}, Settings: []Set{}, Arch: runtime.GOARCH, PageSize: os.Getpagesize(), Gomaxprocs: os.Getenv("GOMAXPROCS"),
		Kernel: read("/proc/sys/kernel/osrelease"), HugeShmem: chosen(read("/sys/kernel/mm/transparent_hugepage/shmem_enabled"))}
	if f.Kernel == "" { // no /proc
		var name unix.Utsname
		if unix.Uname(&name) == nil {
			f.Kernel = unix.ByteSliceToString(name.Release[:])
		}
	}
	f.PtraceScope, _ = strconv.Atoi(read("/proc/sys/kernel/yama/ptrace_scope"))
	if space, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		f.PidNamespace = space != firstPidNamespace
	}
	switch self, err := os.Readlink("/proc/self"); {
	case err != nil:
		f.Proc = noProc
	case self != strconv.Itoa(os.Getpid()):
		f.Proc = otherProc
	}
	if _, err := os.Stat("/sys/devices/system/cpu"); err != nil {
		f.Sys = noSys
	}
	f.processor()
	f.cpus()
	f.memory()
	f.Shm = lookAtShm(shm.Dir())
	f.Robust = tryRobust()
	f.tryChild()
	f.settings()
	return f, nil
}

// firstPidNamespace has this number in every kernel.
const firstPidNamespace = "pid:[4026531836]"

func (f *Facts) processor() {
	info := table("/proc/cpuinfo")
	f.Processor = info["model name"]
	if slices.Contains(strings.Fields(info["flags"]), "hypervisor") {
		f.Hyper = "yes"
	}
	for _, file := range []string{"/sys/hypervisor/type", "/sys/class/dmi/id/product_name"} {
		if name := read(file); name != "" && f.Hyper == "yes" {
			f.Hyper = name
		}
	}
	for _, v := range []struct {
		has  bool
		name string
	}{{cpu.X86.HasAVX2, "AVX2"}, {cpu.X86.HasAVX512F, "AVX-512"}} {
		if v.has {
			f.Vectors = append(f.Vectors, v.name)
		}
	}
}

func (f *Facts) cpus() {
	f.Quota, _ = topo.HereQuota()
	if online, err := topo.ParseList(read("/sys/devices/system/cpu/online")); err == nil {
		f.Online = len(online)
	}
	usable, err := topo.Here()
	if err != nil {
		return
	}
	cores, nodes, governors, ids := map[int]bool{}, map[int]bool{}, map[string]bool{}, []int{}
	for _, c := range usable {
		ids = append(ids, c.ID)
		cores[c.Core], nodes[c.Node] = true, true
		if g := read(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", c.ID)); g != "" {
			governors[g] = true
		}
	}
	f.CPUs, f.CPUCount, f.Cores, f.Nodes = topo.FormatList(ids), len(ids), len(cores), len(nodes)
	var names []string
	for g := range governors {
		names = append(names, g)
	}
	slices.Sort(names)
	f.Governors = strings.Join(names, ", ")
	f.Line, f.Steal = probe(usable)
}

func (f *Facts) memory() {
	info := table("/proc/meminfo")
	for name, into := range map[string]*int64{"MemTotal": &f.MemoryTotal, "MemAvailable": &f.MemoryAvailable} {
		kib, _ := strconv.ParseInt(strings.TrimSuffix(info[name], " kB"), 10, 64)
		*into = kib << 10
	}
	if room, limited := shm.CgroupRoom(); limited {
		f.CgroupRoom = &room
	}
	for which, into := range map[int]*int64{unix.RLIMIT_AS: &f.AddressLimit, unix.RLIMIT_FSIZE: &f.FileLimit, unix.RLIMIT_NOFILE: &f.OpenFiles} {
		var limit unix.Rlimit
		if unix.Getrlimit(which, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
			*into = int64(min(limit.Cur, math.MaxInt64))
		}
	}
	if f.OpenFiles == 0 {
		f.OpenFiles = math.MaxInt64
	}
}

// settings asks what Join asks.
func (f *Facts) settings() {
	if o, err := symwin.FromEnvironment(); err != nil {
		f.Join = strings.TrimPrefix(err.Error(), "join: "+symwin.ErrUsage.Error()+": ")
	} else {
		f.Job = o.Job
	}
	for _, v := range env.Table {
		value := os.Getenv(v.Name)
		if value == "" {
			continue
		}
		s := Set{Name: v.Name, Value: value}
		if err := launch.CheckSetting(v.Name, value); err != nil {
			s.Error = err.Error()
		}
		f.Settings = append(f.Settings, s)
	}
	for _, set := range os.Environ() {
		name, value, _ := strings.Cut(set, "=")
		if strings.HasPrefix(name, "SYMWIN_") && !slices.ContainsFunc(env.Table, func(v env.Var) bool { return v.Name == name }) {
			f.Settings = append(f.Settings, Set{Name: name, Value: value, Unknown: true})
		}
	}
}

// lookAtShm looks at the directory and makes a region there.
func lookAtShm(dir string) Shm {
	s := Shm{Dir: dir, Inodes: -1}
	if !filepath.IsAbs(dir) {
		s.Error = "not an absolute path, so ranks with other working directories would look elsewhere"
		return s
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		s.Error = err.Error()
		return s
	}
	s.Size, s.Free = int64(st.Blocks)*int64(st.Bsize), int64(st.Bavail)*int64(st.Bsize)
	if st.Blocks == 0 {
		s.Free, _ = shm.Free()
	}
	if st.Files > 0 {
		s.Inodes = int64(st.Ffree)
	}
	s.ReadOnly = st.Flags&unix.ST_RDONLY != 0
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	at := dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		at = real
	}
	if s.Mount, s.Filesystem, s.Options = mountOf(string(mounts), at); s.Filesystem == "" {
		s.Filesystem, s.Options = fmt.Sprintf("a filesystem of type %#x", st.Type), "options unknown"
		if st.Type == unix.TMPFS_MAGIC {
			s.Filesystem = "tmpfs"
		}
	}
	region, err := shm.Create(shm.Name(fmt.Sprintf("doctor-%d", os.Getpid())), 1<<20, nil)
	if err != nil {
		s.Error = strings.TrimPrefix(err.Error(), "shm: ")
		return s
	}
	if err := region.Unlink(); err != nil {
		s.Error = err.Error()
	}
	_ = region.Close()
	return s
}

func read(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// table reads lines "name : value" up to the first empty one.
func table(file string) map[string]string {
	all := map[string]string{}
	in, err := os.Open(file)
	if err != nil {
		return all
	}
	defer in.Close()
	for lines := bufio.NewScanner(in); lines.Scan() && lines.Text() != ""; {
		name, value, _ := strings.Cut(lines.Text(), ":")
		all[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return all
}

// addressOf is where a word lies, for a reader in another process.
func addressOf(word *uint64) uintptr { return uintptr(unsafe.Pointer(word)) }
