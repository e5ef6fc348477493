package reduce

import (
	"fmt"
	"math/bits"
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
func KindOf[T Number]() Kind { return underlying[reflect.TypeFor[T]().Kind()] }

// underlying is a table because every call of a reduction asks.
var underlying = [reflect.Float64 + 1]Kind{
	reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Int:   Int32 + Kind(bits.UintSize/64),
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Uint:    Uint32 + Kind(bits.UintSize/64),
	reflect.Float32: Float32, reflect.Float64: Float64,
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
