package symwin

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// callOf makes call, which is empty, the record of a collective on elements of
// type T, of which count are what ranks agree on; 0 where they need not. Ranks that
// use another type differ in it. Records are passed by pointer: a copy of one that
// was just written word by word waits until all of it has left the store buffer.
func callOf[T any](call *symmem.Record, op symmem.Op, count int) error {
	k, err := window.KindOf[T]()
	call.Op, call.EltSize, call.Count = op, window.SizeOf[T](), uint64(count)
	call.Digest = symmem.Details{Kind: sized(k, window.SizeOf[T]())}.Digest()
	return err
}

// sized is the kind of a type of so many bytes where the name leaves them open.
func sized(k reflect.Kind, bytes int) reflect.Kind {
	switch k {
	case reflect.Int:
		if bytes == 8 {
			return reflect.Int64
		}
		return reflect.Int32
	case reflect.Uint, reflect.Uintptr:
		if bytes == 8 {
			return reflect.Uint64
		}
		return reflect.Uint32
	}
	return k
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUsage}, args...)...)
}

// checkBlocks is about n parts of so many elements in a whole of have.
func checkBlocks(whole string, have int, part string, each, n int) error {
	if have == n*each {
		return nil
	}
	return usage("%s has %d elements; %d ranks with a %s of %d need %d times as many", whole, have, n, part, each, n)
}

func checkRoot(root, n int) error {
	if root < 0 || root >= n {
		return usage("root %d of a team of %d", root, n)
	}
	return nil
}

// sameStart tells whether a and b, equally long, are the same memory.
func sameStart(a, b []byte) bool { return len(a) == 0 || &a[0] == &b[0] }

// canBe reports whether a part shares no memory with the whole, or lies exactly in
// its own place there, which is the r-th and what in place means.
func canBe(whole, part []byte, r int) bool {
	return !window.Overlap(whole, part) || sameStart(part, block(whole, r, len(part)))
}

// overlapAny reports whether counts that are written share memory with what is read then.
func overlapAny(counts, others []int, memory ...[]byte) bool {
	raw := window.Raw(counts)
	return window.Overlap(raw, window.Raw(others)) ||
		slices.ContainsFunc(memory, func(b []byte) bool { return window.Overlap(raw, b) })
}

// apart refuses what cannot be.
func apart(whole, part []byte, r int, names string) error {
	if canBe(whole, part, r) {
		return nil
	}
	return usage("%s overlap; in place, the one is exactly this rank's part of the other", names)
}

// named puts the operation's name before its error.
func named(op symmem.Op, err error) error {
	if err == nil {
		return nil
	}
	return wrapped(op, err)
}

func wrapped(op symmem.Op, err error) error {
	return fmt.Errorf("%v: %w", op, err)
}
