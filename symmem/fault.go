package symmem

import (
	"errors"
	"runtime/debug"

	"github.com/symwin/symwin/internal/shm"
)

// A same-user process can truncate the region's file under everybody; the next
// access to what is gone is then a fault, which would end the program with its
// stacks. Where it costs nothing on the fast path (joining, the slow part of a
// wait, closing, looking from outside) the fault becomes ErrRegion instead:
//
//	defer r.catch(debug.SetPanicOnFault(true), &err)

// catch ends the protection that the caller has switched on, before says what it
// was, and turns a fault inside the region into *err. It is to be deferred itself.
func (r *region) catch(before bool, err *error) {
	debug.SetPanicOnFault(before)
	if v := recover(); v != nil {
		*err = r.fault(v)
	}
}

// catch is the region's, and closes the world. Zeroes take the place of its
// memory, so that whoever comes there later, an engine that looks before it asks
// or the program with a slice of a window, does no harm and comes to none.
func (w *World) catch(before bool, err *error) {
	debug.SetPanicOnFault(before)
	if v := recover(); v != nil {
		*err = w.lose(v)
	}
}

// Catch is catch for the engines, where they touch the region outside a wait.
// It is to be deferred itself:
//
//	defer w.Catch(debug.SetPanicOnFault(true), &err)
func (w *World) Catch(before bool, err *error) {
	debug.SetPanicOnFault(before)
	if v := recover(); v != nil {
		*err = w.lose(v)
	}
}

func (w *World) lose(v any) error {
	err := w.r.fault(v)
	w.gone.Store(true)
	w.closed.Store(true)
	w.burial.Do(func() { _ = errors.Join(shm.Bury(w.r.control), shm.Bury(w.r.windows)) })
	return err
}

// fault is a recovered panic as an error, if it was a fault inside the region;
// any other panic goes on.
func (r *region) fault(v any) error {
	fault, ok := v.(interface {
		error
		Addr() uintptr
	})
	if !ok || !r.holds(fault.Addr()) {
		panic(v)
	}
	return regionError("the memory of job %s is gone: its file was truncated", r.job)
}
