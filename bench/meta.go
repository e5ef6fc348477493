package bench

import (
	"os"
	"runtime/debug"
	"strings"
)

// Meta is where and with what was measured: the first object of JSON output, and
// the header of the others.
type Meta struct {
	Host    string              `json:"host"`
	CPU     string              `json:"cpu"`
	Kernel  string              `json:"kernel"`
	Go      string              `json:"go"`
	Commit  string              `json:"commit"` // of symwin, if this was built from its tree
	Command string              `json:"command"`
	Bind    string              `json:"bind"`
	Peers   map[string]PeerMeta `json:"peers"`
}

// PeerMeta is which peer it was and how it was started.
type PeerMeta struct {
	Version string `json:"version,omitempty"`
	Command string `json:"command,omitempty"`
	Note    string `json:"note,omitempty"` // why there is nothing of it

	missing bool // it is not installed: it has no column
	cannot  bool // it has no such operation: its column shows -
}

func newMeta(j *job, args []string, rivals []*rival) Meta {
	host, _ := os.Hostname()
	m := Meta{
		Host: host, CPU: cpuModel(len(j.CPUs)), Kernel: kernel(), Go: goVersion(), Commit: commit(),
		Command: "shmrun bench " + shellWords(args), Bind: j.binding(), Peers: map[string]PeerMeta{},
	}
	for _, r := range rivals {
		m.Peers[r.name] = r.about
	}
	return m
}

// shellWords is args as a shell would read them again.
func shellWords(args []string) string {
	words := make([]string, len(args))
	for k, a := range args {
		if words[k] = a; a == "" || strings.ContainsAny(a, " \t\n\"'`$\\&|;<>()*?[]#~{}!") {
			words[k] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// commit is the revision that was built, with a + behind it if the tree was
// changed since.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, plus := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			plus = "+"
		}
	}
	return revision + plus
}
