package reduce

import (
	"fmt"
	"reflect"
)

// Integer is every type whose elements all operations apply to.
type Integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint
}

// Float is every type whose elements Sum, Prod, Min and Max apply to.
type Float interface{ ~float32 | ~float64 }

// Number is every type whose elements can be reduced.
type Number interface{ Integer | Float }

// Kind is what the bytes of an element mean. The zero Kind is none.
type Kind uint8

const (
	Int8 Kind = 1 + iota
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
)

var kindNames = [...]string{
	Int8: "int8", Int16: "int16", Int32: "int32", Int64: "int64",
	Uint8: "uint8", Uint16: "uint16", Uint32: "uint32", Uint64: "uint64",
	Float32: "float32", Float64: "float64",
}

// KindOf is the kind of T: that of the type under it, and for int and uint that
// of their size on this machine.
func KindOf[T Number]() Kind {
	t := reflect.TypeFor[T]()
	switch t.Kind() {
	case reflect.Float32:
		return Float32
	case reflect.Float64:
		return Float64
	}
	k := Int8
	if reflect.Zero(t).CanUint() {
		k = Uint8
	}
	for bytes := t.Size(); bytes > 1; bytes >>= 1 {
		k++
	}
	return k
}

// Size is how many bytes an element has.
func (k Kind) Size() int {
	switch {
	case !k.known():
		return 0
	case k.isFloat():
		return 4 << (k - Float32)
	}
	return 1 << ((k - Int8) & 3)
}

// String is the name of the Go type: "float32".
func (k Kind) String() string {
	if !k.known() {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

func (k Kind) known() bool   { return k >= Int8 && k <= Float64 }
func (k Kind) isFloat() bool { return k >= Float32 }
