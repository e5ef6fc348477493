package ranktest

import (
	"runtime"
	"testing"

	"github.com/symwin/symwin/internal/topo"
)

// OnCPU runs f, whose child processes run on one CPU only: the i-th of those that this
// process may use, round and round; -1 is the last.
func OnCPU(t testing.TB, i int, f func()) {
	t.Helper()
	runtime.LockOSThread() // children inherit the mask of the thread that starts them
	defer runtime.UnlockOSThread()
	all, err := topo.Usable()
	if err != nil {
		t.Fatal(err)
	}
	if err := topo.Bind([]int{all[(i+len(all))%len(all)]}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := topo.Bind(all); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}
