package doctor

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fine is a machine of which nothing has to be said.
func fine() Facts {
	return Facts{
		Kernel: "6.8.0-45-generic", Arch: "amd64", Processor: "Example 9000", Vectors: []string{"AVX2", "AVX-512"},
		CPUs: "0-15", CPUCount: 16, Online: 16, Cores: 16, Nodes: 1, Governors: "performance",
		Line:        &Line{From: 0, To: 1, Median: 62.4, Fast: 60.1, Slow: 66.6, Looks: 20000},
		MemoryTotal: 64 << 30, MemoryAvailable: 60 << 30, OpenFiles: 1024,
		Shm:      Shm{Dir: "/dev/shm", Mount: "/dev/shm", Filesystem: "tmpfs", Options: "rw,nosuid,nodev,noexec,huge=within_size", Size: 32 << 30, Free: 31 << 30, Inodes: 8e6},
		PageSize: 4096, HugeShmem: "always", Settings: []Set{},
	}
}

func room(n int64) *int64 { return &n }

// cases are machines that nobody here owns, each written out in full.
var cases = map[string]func(*Facts){
	"fine": func(f *Facts) {},
	// docker run with its defaults but one CPU of quota.
	"container": func(f *Facts) {
		f.Quota, f.CgroupRoom, f.Hyper, f.Governors, f.PidNamespace = 1, room(500<<20), "yes", "", true
		f.Shm = Shm{Dir: "/dev/shm", Mount: "/dev/shm", Filesystem: "tmpfs", Options: "rw,nosuid,nodev,noexec,relatime,size=65536k", Size: 64 << 20, Free: 64 << 20, Inodes: 8e6}
		f.HugeShmem = "never"
	},
	// Everything that has a milder form.
	"poor": func(f *Facts) {
		f.Kernel, f.Arch, f.Vectors, f.Processor = "5.10.0-28-arm64", "arm64", nil, ""
		f.CPUs, f.CPUCount, f.Cores, f.Nodes, f.Governors = "0-3,8-11", 8, 4, 2, "powersave"
		f.Hyper, f.Steal = "KVM", 0.2
		f.Line.Slow = 240
		f.CgroupRoom = room(100 << 20)
		f.Shm.Mount, f.Shm.Filesystem, f.Shm.Options = "/", "ext4", "rw,relatime"
		f.OpenFiles, f.HugeShmem = 64, "advise"
		f.Robust, f.PeerMemory, f.PtraceScope = "set_robust_list: operation not permitted", "operation not permitted", 2
		f.Memfd, f.Peer = "operation not permitted", ""
		f.Settings = []Set{{Name: "SYMWIN_JOB", Value: "a"}, {Name: "SYMWIN_WINDOW", Value: "64M"}}
		f.Job = "a"
	},
	// A chroot with a /dev alone.
	"bare": func(f *Facts) {
		f.Processor, f.Vectors, f.Online, f.Governors, f.HugeShmem, f.MemoryTotal, f.MemoryAvailable = "", nil, 0, "", "", 0, 0
		f.Proc, f.Sys, f.Clone, f.Peer, f.PeerMemory, f.Pidfd = noProc, noSys, "no child", "no child", "no child", "no child"
		f.Shm.Mount, f.Shm.Filesystem, f.Shm.Options = "", "tmpfs", "options unknown"
	},
	// Everything that makes it impossible.
	"unusable": func(f *Facts) {
		f.Kernel, f.CPUs, f.CPUCount, f.Cores, f.Line = "4.19.0+", "3", 1, 1, nil
		f.CgroupRoom = room(1 << 20)
		f.Shm = Shm{Dir: "/dev/shm", Mount: "/dev/shm", Filesystem: "tmpfs", Options: "ro,relatime", Size: 64 << 20, Free: 64 << 20, ReadOnly: true, Error: "read-only file system"}
		f.AddressLimit = 4 << 30
		f.Robust, f.Pidfd, f.Clone = "set_robust_list: operation not permitted", "operation not permitted", "this kernel gives none"
		f.Memfd, f.Peer = "operation not permitted", "permission denied"
		f.Settings = []Set{{Name: "SYMWIN_STALL", Value: "soon", Error: `SYMWIN_STALL: "soon" is no duration; write seconds (10, 2.5) or 300ms, 10s, 5m, 1h`}}
	},
}

func TestGolden(t *testing.T) {
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			f := fine()
			change(&f)
			findings := Judge(f)
			var text, js bytes.Buffer
			require.NoError(t, Write(&text, findings))
			require.NoError(t, WriteJSON(&js, f, findings))
			for file, got := range map[string]string{name + ".txt": text.String(), name + ".json": js.String()} {
				file = filepath.Join("testdata", file)
				if *update {
					require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, string(want), got)
			}
			for line := range strings.Lines(text.String()) {
				require.LessOrEqual(t, len([]rune(line)), width+1, line)
			}
			require.Equal(t, name != "unusable" && name != "bare", Usable(findings))
		})
	}
}

// Whatever is not fine says what to do.
func TestEveryFindingHelps(t *testing.T) {
	for name, change := range cases {
		f := fine()
		change(&f)
		for _, finding := range Judge(f) {
			require.NotEmpty(t, finding.Text, "%s: %s", name, finding.Name)
			require.Equal(t, finding.Level == OK, finding.Remedy == "", "%s: %s", name, finding.Name)
		}
	}
}

// Single matters, changed one at a time.
func TestJudge(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*Facts)
		name   string
		level  Level
		want   string
	}{
		"before 5.4":            {func(f *Facts) { f.Kernel = "5.3.18-lp152" }, "kernel", Error, "older than 5.4"},
		"5.4":                   {func(f *Facts) { f.Kernel = "5.4.0" }, "kernel", Note, "MADV_POPULATE_WRITE"},
		"5.14":                  {func(f *Facts) { f.Kernel = "5.14.0-427.el9" }, "kernel", OK, "before 6.3"},
		"6.3":                   {func(f *Facts) { f.Kernel = "6.3-rc1" }, "kernel", OK, "nothing falls back"},
		"no AVX2":               {func(f *Facts) { f.Vectors = nil }, "processor", Note, "without AVX2"},
		"riscv":                 {func(f *Facts) { f.Arch = "riscv64" }, "processor", Note, "tested on amd64 and arm64"},
		"affinity":              {func(f *Facts) { f.CPUCount, f.Cores, f.CPUs = 2, 2, "4-5" }, "cpus", Note, "2 CPUs usable (4-5) of the machine's 16"},
		"siblings":              {func(f *Facts) { f.Cores = 8 }, "cpus", Note, "16 CPUs usable (0-15) on 8 cores"},
		"wide quota":            {func(f *Facts) { f.Quota = 16 }, "quota", OK, "as much as there is"},
		"quota and GOMAXPROCS":  {func(f *Facts) { f.Quota, f.Gomaxprocs = 2.5, "16" }, "quota", Warning, "GOMAXPROCS=16"},
		"far":                   {func(f *Facts) { f.Line = &Line{Median: 300, Fast: 290, Slow: 310} }, "line", Note, "far apart"},
		"no steal":              {func(f *Facts) { f.Hyper = "xen" }, "machine", Note, "(xen)"},
		"shm gone":              {func(f *Facts) { f.Shm = Shm{Dir: "/x", Error: "no such file or directory"} }, "shm", Error, "/x: no such file"},
		"shm full of files":     {func(f *Facts) { f.Shm.Inodes = 0 }, "shm", Error, "no inode"},
		"shm refuses":           {func(f *Facts) { f.Shm.Error = "permission denied" }, "shm", Error, "no region can be made: permission denied"},
		"shm without limit":     {func(f *Facts) { f.Shm.Size = 0 }, "shm", OK, "no limit of its own"},
		"ulimit -f":             {func(f *Facts) { f.FileLimit = 1 << 30 }, "limits", Warning, "ulimit -f"},
		"huge memfds":           {func(f *Facts) { f.Shm.Options = "rw" }, "pages", OK, "with --backing memfd"},
		"large pages":           {func(f *Facts) { f.Shm.Options, f.HugeShmem, f.PageSize = "rw", "never", 65536 }, "pages", Note, "pages of 64 KiB, no huge ones for shared memory (shmem_enabled is never): each rank's page tables take 128 KiB"},
		"pidfd_open refused":    {func(f *Facts) { f.Pidfd = "operation not permitted" }, "pidfd", Note, "only the fallback"},
		"robust refused":        {func(f *Facts) { f.Robust = "x" }, "robust", Note, "by pidfd instead"},
		"both refused":          {func(f *Facts) { f.Robust, f.Pidfd = "x", "y" }, "robust", Warning, "looking into /proc"},
		"memfd refused":         {func(f *Facts) { f.Memfd = "x" }, "memfd", Note, "only --backing memfd"},
		"memfd refused, small":  {func(f *Facts) { f.Memfd, f.Shm.Free = "x", 1<<20 }, "memfd", Error, "too small to do without"},
		"peers unseen":          {func(f *Facts) { f.Peer, f.PidNamespace = "permission denied", true }, "peers", Warning, "PID namespace of its own): permission denied"},
		"peers unseen, small":   {func(f *Facts) { f.Peer, f.Shm.Free = "permission denied", 1<<20 }, "peers", Error, "auto chooses it"},
		"no /proc":              {func(f *Facts) { f.Proc, f.Clone = "there is no /proc", "x" }, "proc", Error, "there is no /proc"},
		"another's /proc":       {func(f *Facts) { f.Proc, f.Peer = otherProc, "x" }, "proc", Warning, "another PID namespace"},
		"yama 1":                {func(f *Facts) { f.PtraceScope = 1 }, "ptrace", OK, "yama.ptrace_scope is 1"},
		"yama 3":                {func(f *Facts) { f.PtraceScope = 3 }, "ptrace", Note, "no debugger"},
		"a bad setting":         {func(f *Facts) { f.Join = "a window of 0 bytes is too small" }, "settings", Error, "a program started here cannot join: a window of 0"},
		"another's job":         {func(f *Facts) { f.Job = "mpich-1" }, "settings", Warning, "a rank of job mpich-1 (by another launcher's variables)"},
		"quota unseen":          {func(f *Facts) { f.Proc = otherProc }, "quota", Note, "unknown: /proc shows the processes of another PID namespace"},
		"cgroup unseen":         {func(f *Facts) { f.Sys = noSys }, "memory", Note, "60 GiB available of 64 GiB, limits by a cgroup are unknown: there is no /sys"},
		"memory unseen":         {func(f *Facts) { f.MemoryTotal = 0 }, "memory", Note, "unknown: this /proc does not tell"},
		"a mistyped setting":    {func(f *Facts) { f.Settings = []Set{{Name: "SYMWIN_WINDWO", Value: "1G", Unknown: true}} }, "settings", Warning, "nothing in symwin reads SYMWIN_WINDWO"},
		"a harmless setting":    {func(f *Facts) { f.Settings = []Set{{Name: "SYMWIN_LOG", Value: "debug"}} }, "settings", OK, "SYMWIN_LOG=debug"},
		"kernel without a word": {func(f *Facts) { f.HugeShmem, f.Shm.Options = "", "rw" }, "pages", OK, "no huge pages"},
	} {
		f := fine()
		c.change(&f)
		for _, finding := range Judge(f) {
			if finding.Name == c.name {
				require.Equal(t, c.level, finding.Level, what)
				require.Contains(t, finding.Text, c.want, what)
			}
		}
	}
}

// The remedy is for the mount point that holds the directory, if that is a tmpfs.
func TestHugePagesOfTmpfs(t *testing.T) {
	for mount, want := range map[string]string{
		"tmpfs /tmp": "mount -o remount,huge=always /tmp, or write",
		"ext4 /":     "else as root write",
		"type ":      "else as root write",
	} {
		f := fine()
		f.HugeShmem, f.Shm.Dir = "never", "/tmp/shm"
		f.Shm.Filesystem, f.Shm.Mount, _ = strings.Cut(mount, " ")
		f.Shm.Options = "rw"
		require.Contains(t, pages(f).remedy, want)
	}
}

// The names are a promise to programs.
func TestNamesStay(t *testing.T) {
	var names []string
	for _, f := range Judge(Facts{}) {
		names = append(names, f.Name)
	}
	require.Equal(t, "kernel processor cpus quota numa governor machine line memory shm limits pages robust proc pidfd memfd peers ptrace settings",
		strings.Join(names, " "))
	text, err := json.Marshal(fine())
	require.NoError(t, err)
	var again Facts
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, fine(), again)
}

func TestMountOf(t *testing.T) {
	const mounts = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n" +
		"23 22 0:5 / /dev rw,nosuid - devtmpfs udev rw,size=1k\n" +
		"24 23 0:20 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs rw,size=65536k\n" +
		"25 23 0:21 / /dev/shm ro,nosuid - tmpfs tmpfs rw,size=1024k\n" +
		"26 22 0:22 / /mnt/a\\040b rw - tmpfs none rw\nshort\n"
	for dir, want := range map[string][3]string{
		"/dev/shm":     {"/dev/shm", "tmpfs", "ro,nosuid,size=1024k"},
		"/dev/shm/sub": {"/dev/shm", "tmpfs", "ro,nosuid,size=1024k"},
		"/dev/shmall":  {"/dev", "devtmpfs", "rw,nosuid,size=1k"},
		"/tmp":         {"/", "ext4", "rw,relatime"},
		"/mnt/a b/c":   {"/mnt/a b", "tmpfs", "rw"},
	} {
		point, kind, options := mountOf(mounts, dir)
		require.Equal(t, want, [3]string{point, kind, options}, dir)
	}
	require.Equal(t, "madvise", chosen("always [madvise] never"))
	require.Empty(t, chosen("always"))
}
