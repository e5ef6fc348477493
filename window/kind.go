package window

import (
	"fmt"
	"math"
	"reflect"
	"sync"

	"github.com/symwin/symwin/symmem"
)

// TypeError says why a type cannot lie in shared memory. It is symmem.ErrUsage.
type TypeError struct {
	Type  string // the type that was asked for
	Field string // the way to the part that is at fault: ".Route.Name", "[]"; empty: the type itself
	Why   string // "a string, which points to memory of this process alone"
}

func (e *TypeError) Error() string {
	what := "it"
	if e.Field != "" {
		what = e.Type + e.Field
	}
	return fmt.Sprintf("%s cannot lie in shared memory: %s is %s", e.Type, what, e.Why)
}

// Unwrap makes errors.Is(err, symmem.ErrUsage) true.
func (e *TypeError) Unwrap() error { return symmem.ErrUsage }

// kind is what an allocation knows of its element type.
type kind struct {
	name string
	size int64
	err  error
}

// kinds holds the verdict on every type that was asked for: reflect.Type → *kind.
var kinds sync.Map

// kindFor is T's kind. The type is walked at its first use only.
func kindFor[T any]() *kind {
	t := reflect.TypeFor[T]()
	if k, ok := kinds.Load(t); ok {
		return k.(*kind)
	}
	k := &kind{name: t.String(), size: int64(SizeOf[T]())}
	if field, why := pointerIn(t); why != "" {
		k.err = &TypeError{Type: k.name, Field: field, Why: why}
	} else if uint64(k.size) > math.MaxUint32 {
		k.err = &TypeError{Type: k.name, Why: fmt.Sprintf("%d bytes large, more than 4 GiB", k.size)}
	}
	kinds.Store(t, k)
	return k
}

// CheckType returns a *TypeError unless T is free of pointers: numbers, booleans,
// and arrays and structs of such. An address means nothing in another process,
// and the collector does not look into shared memory.
//
// It costs a few nanoseconds, so a collective may ask at every call.
func CheckType[T any]() error {
	_, err := KindOf[T]()
	return err
}

// KindOf is T's kind, and the error of CheckType.
func KindOf[T any]() (reflect.Kind, error) {
	k := reflect.TypeFor[T]().Kind()
	if k >= reflect.Bool && k <= reflect.Complex128 {
		return k, nil
	}
	return k, kindFor[T]().err
}

// pointerIn looks for a pointer in t: the way to it and what it is, or "", "".
// A type without pointers cannot contain itself, so the walk ends: it stops at
// the first pointer.
func pointerIn(t reflect.Type) (field, why string) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if rest, why := pointerIn(f.Type); why != "" {
				return "." + f.Name + rest, why
			}
		}
		return "", ""
	case reflect.Array:
		if t.Len() == 0 {
			return "", ""
		}
		rest, why := pointerIn(t.Elem())
		if why != "" {
			return "[]" + rest, why
		}
		return "", ""
	case reflect.Pointer, reflect.UnsafePointer, reflect.String, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface:
		return "", fmt.Sprintf("of kind %s, which points to memory of this process alone", t.Kind())
	}
	return "", ""
}
