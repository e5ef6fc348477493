package bench

import (
	"runtime"

	"github.com/symwin/symwin/internal/topo"
)

// pinned runs f on a thread that is bound to one CPU, and unbinds it after.
func pinned(cpu int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := topo.Usable()
	if err != nil {
		return err
	}
	if err := topo.Bind([]int{cpu}); err != nil {
		return err
	}
	err = f()
	if undo := topo.Bind(before); err == nil {
		err = undo
	}
	return err
}
