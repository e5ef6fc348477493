package reduce

import "fmt"

// Op is an operation that reduces two elements to one. The zero Op is none, so
// that a forgotten one is refused.
type Op uint8

const (
	Sum  Op = 1 + iota // a + b; integers wrap
	Prod               // a · b; integers wrap
	Min                // the smaller; -0 is smaller than +0, and a NaN beats numbers
	Max                // the larger; +0 is larger than -0, and a NaN beats numbers
	And                // a & b, integers only
	Or                 // a | b, integers only
	Xor                // a ^ b, integers only
)

var opNames = [...]string{Sum: "sum", Prod: "prod", Min: "min", Max: "max", And: "and", Or: "or", Xor: "xor"}

// String is the operation's name as tools and errors print it: "sum".
func (op Op) String() string {
	if !op.known() {
		return fmt.Sprintf("Op(%d)", uint8(op))
	}
	return opNames[op]
}

func (op Op) known() bool { return op >= Sum && op <= Xor }

// appliesTo tells whether the operation is defined on elements of that kind.
func (op Op) appliesTo(k Kind) bool {
	return op.known() && k.known() && (op < And || !k.isFloat())
}

// OpError says that an operation is not defined on a kind of elements.
type OpError struct {
	Op   Op
	Kind Kind
}

func (e *OpError) Error() string {
	switch {
	case !e.Op.known():
		return fmt.Sprintf("%v is no operation; there are sum, prod, min, max, and, or, xor", e.Op)
	case !e.Kind.known():
		return fmt.Sprintf("%v is no kind of element; there are the integers of 8 to 64 bits, float32 and float64", e.Kind)
	}
	return fmt.Sprintf("%v is not defined on %v, only on integers; floats have sum, prod, min, max", e.Op, e.Kind)
}
