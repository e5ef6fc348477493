//go:build amd64 || arm64

package shm

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Outlive makes a mapping outlive its file: whoever touches a part of b that the
// file has no longer, because somebody has truncated it, finds zeroes there, of
// his own, from that page to the end of b; and lost gets the value bit. Without
// it, that is a SIGBUS that ends the program. b is what Map returned. End it,
// with the function that comes back, before Unmap. May be called concurrently.
//
// It costs an access nothing: a signal handler of 30 instructions stands before
// the Go runtime's (or whosever it is), puts the zeroes there, and has the access
// made again. All other faults it passes on. debug.SetPanicOnFault, which would do
// with Go alone, needs a deferred call in whatever touches the region: 8 ns of a
// barrier's 120, and nothing for a program's own loads and stores. As the
// handlers by which a Java machine survives truncated mapped files.
//
// On processors that have no handler here, and beyond maxMappings, it does
// nothing.
func Outlive(b []byte, lost *atomic.Uint32, bit uint32) (end func()) {
	handlers.Do(install)
	mappings.Lock()
	defer mappings.Unlock()
	for i := range guarded {
		if m := &guarded[i]; mappings.lost[i] == nil {
			mappings.lost[i] = lost
			m.low = uintptr(unsafe.Pointer(unsafe.SliceData(b)))
			m.end = m.low + uintptr(len(b))
			m.lost = uintptr(unsafe.Pointer(lost))
			m.bit = uintptr(bit)
			m.turn.Add(1)
			return sync.OnceFunc(func() {
				mappings.Lock()
				defer mappings.Unlock()
				m.turn.Add(1)
				mappings.lost[i] = nil
			})
		}
	}
	return func() {}
}

const maxMappings = 1024

// guarded is what the handler looks through. Its writers hold mappings. The mapping
// that it looks for cannot end meanwhile, since somebody is just touching it; but
// it comes past others that end, and whose place is taken anew: bounds are one
// mapping's only if turn is odd, and the same before and behind them. The rest is
// written while turn is even, and turn by a locked addition: no store goes past it.
var guarded [maxMappings]guardedMapping

// guardedMapping is known to the assembly.
type guardedMapping struct {
	turn atomic.Uintptr // odd: in use; the handler reads it with acquire
	low  uintptr
	end  uintptr
	lost uintptr // address of a word that mappings.lost keeps from the collector
	bit  uintptr
}

var mappings struct {
	sync.Mutex
	lost [maxMappings]*atomic.Uint32
}

var handlers sync.Once

// What the assembly reads.
var (
	//lint:ignore U1000 in loss_linux_*.s
	pageMask = ^uintptr(os.Getpagesize() - 1)
	//lint:ignore U1000 the same: the handler that was there before
	nextInRow uintptr
)

// faultHandler is the address of the handler, as the kernel wants it.
func faultHandler() uintptr

// kernelAction is the kernel's struct sigaction; x/sys has none.
type kernelAction struct{ handler, flags, restorer, mask uintptr }

// install puts the handler before the one that is there, with the same flags,
// restorer and mask: all but the address is as the Go runtime needs it.
func install() {
	var old kernelAction
	const setSize = 8
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGBUS), 0, uintptr(unsafe.Pointer(&old)), setSize, 0, 0); e != 0 {
		panic(fmt.Sprintf("shm: reading the handler of SIGBUS: %v", e))
	}
	if old.handler <= 1 { // the default, or ignored: somebody wants it so
		return
	}
	nextInRow = old.handler
	act := old
	act.handler = faultHandler()
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGBUS), uintptr(unsafe.Pointer(&act)), 0, setSize, 0, 0); e != 0 {
		panic(fmt.Sprintf("shm: placing a handler of SIGBUS: %v", e))
	}
}
