package ce

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic in the middle of an operation: a fault in the program's
// own memory (a mapped file that was truncated), or one of a Folder. The
// operation fails with it, which revokes the team.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic in a copy: %v", e.Value) }

// Unwrap is the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func asError(v any) error {
	if err, ok := v.(*PanicError); ok {
		return err
	}
	return &PanicError{Value: v, Stack: debug.Stack()}
}

// rescue makes a panic of the operation its error, and faults panics. It is to be
// deferred itself:
//
//	defer rescue(debug.SetPanicOnFault(true), &err)
func rescue(before bool, err *error) {
	debug.SetPanicOnFault(before)
	if v := recover(); v != nil {
		*err = asError(v)
	}
}
