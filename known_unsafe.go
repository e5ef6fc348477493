package symwin

import "unsafe"

// typeWord is a number that no other type has: where the runtime keeps what it knows
// of T. (One type may have two in programs that load plug-ins.)
func typeWord[T any]() uintptr {
	var v any = (*T)(nil)
	return *(*uintptr)(unsafe.Pointer(&v)) // an interface is its type's word and a value's
}
