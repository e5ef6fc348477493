package peers

import (
	"bytes"
	"os"
	"strconv"
)

// markVar is in the environment of all processes of a peer, and of nothing else:
// what a launcher starts inherits it, whatever sessions and groups are made on
// the way, and so all of them are found again.
const markVar = "SYMWIN_BENCH_PEER"

// marked lists the living processes that carry a mark.
func marked(mark string) (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && carries(pid, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// carries tells whether a process carries a mark. The dead have no environment any
// more, and other people's is not for us to read.
func carries(pid int, mark string) bool {
	entry := []byte(markVar + "=" + mark)
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || !bytes.Contains(environ, entry) {
		return false
	}
	for one := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(one, entry) {
			return true
		}
	}
	return false
}
