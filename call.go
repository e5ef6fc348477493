package symwin

import (
	"fmt"
	"reflect"

	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// callOf is the record of a collective on elements of type T, of which count are
// what ranks agree on; 0 where they need not. Ranks that use another type differ
// in it.
func callOf[T any](op symmem.Op, count int) (symmem.Record, error) {
	if err := window.CheckType[T](); err != nil {
		return symmem.Record{}, err
	}
	return symmem.Record{Op: op, EltSize: window.SizeOf[T](), Count: uint64(count), Digest: symmem.Details{Kind: kindOf[T]()}.Digest()}, nil
}

// kindOf is T's kind, by its size where the name leaves it open.
func kindOf[T any]() reflect.Kind {
	switch k := reflect.TypeFor[T]().Kind(); {
	case k == reflect.Int && window.SizeOf[T]() == 8:
		return reflect.Int64
	case k == reflect.Int:
		return reflect.Int32
	case (k == reflect.Uint || k == reflect.Uintptr) && window.SizeOf[T]() == 8:
		return reflect.Uint64
	case k == reflect.Uint || k == reflect.Uintptr:
		return reflect.Uint32
	default:
		return k
	}
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUsage}, args...)...)
}

// checkBlocks is about n parts of so many elements in a whole of have.
func checkBlocks(whole string, have int, part string, each, n int) error {
	if have/n == each && have%n == 0 {
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

// apart refuses a part that shares memory with the whole, unless it lies exactly
// in its own place there, which is what in place means.
func apart(whole, part, own []byte, names string) error {
	if !window.Overlap(whole, part) || len(part) == len(own) && &part[0] == &own[0] {
		return nil
	}
	return usage("%s overlap; in place, the one is exactly this rank's part of the other", names)
}

// named puts the operation's name before its error.
func named(op symmem.Op, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %w", op, err)
}
