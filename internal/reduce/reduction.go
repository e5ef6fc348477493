package reduce

import "fmt"

// Reduction is an operation on elements of one kind. It is a small value without
// state: copy it, compare it, use it from any number of goroutines. The zero
// Reduction is none; using it panics.
type Reduction struct {
	op   Op
	kind Kind
}

// For is the reduction of elements of type T by op. An operation that T does not
// have is an *OpError.
func For[T Number](op Op) (Reduction, error) { return Of(KindOf[T](), op) }

// Of is For where the kind of the elements is known only when the program runs.
func Of(kind Kind, op Op) (Reduction, error) {
	if !op.appliesTo(kind) {
		return Reduction{}, fmt.Errorf("reduce: %w", &OpError{Op: op, Kind: kind})
	}
	return Reduction{op: op, kind: kind}, nil
}

// Op is what the reduction does.
func (r Reduction) Op() Op { return r.op }

// Kind is what it does it to.
func (r Reduction) Kind() Kind { return r.kind }

// String names both: "sum of float32".
func (r Reduction) String() string { return r.op.String() + " of " + r.kind.String() }

// Into stores ((parts[0] op parts[1]) op parts[2]) … into dst, element by element
// in just this order. One part alone is copied as it is. The running form, for
// data that comes in steps, is
//
//	r.Into(dst, dst, part)
//
// Everything has the length of dst, any number of whole elements, 0 too, and may
// start at any byte. In place is right where dst starts where one or more of the
// parts start, whichever they are; parts may overlap each other as they like.
// Nobody may write to the parts, or touch dst, before Into returns. It allocates
// nothing and keeps no part.
//
// Its caller is an engine that has checked what the user gave it, so what breaks
// these rules is a mistake in the program and panics before a byte is stored: no
// part, lengths that differ, half an element, a part that overlaps dst anywhere
// but at its start.
func (r Reduction) Into(dst []byte, parts ...[]byte) {
	r.check(dst, parts)
	switch {
	case len(dst) == 0:
	case len(parts) == 1:
		copy(dst, parts[0])
	default:
		fold(r.kind, r.op, dst, parts)
	}
}

// check panics if Into is not to be called with these.
func (r Reduction) check(dst []byte, parts [][]byte) {
	size := r.kind.Size()
	if size == 0 {
		panic("reduce: the zero Reduction does nothing; make one with For or Of")
	}
	if len(parts) == 0 {
		panic("reduce: no part to reduce; an empty reduction has no value")
	}
	if len(dst)&(size-1) != 0 {
		panic(fmt.Sprintf("reduce: %d bytes are no whole number of %v", len(dst), r.kind))
	}
	for i, part := range parts {
		if len(part) != len(dst) {
			panic(fmt.Sprintf("reduce: part %d has %d bytes, dst has %d", i, len(part), len(dst)))
		}
		if overlapAskew(dst, part) {
			panic(fmt.Sprintf("reduce: part %d overlaps dst but does not start with it; in place, both start at the same byte", i))
		}
	}
}
