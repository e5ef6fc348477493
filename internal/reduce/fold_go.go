package reduce

// foldInGo is the twin of the leaves and says what they must do. It carries one
// block of the result at a time through all parts, so that a dst that is one of
// the parts is overwritten only after it was read, and what lies askew is moved to
// where Go may load it.
func foldInGo(kind Kind, op Op, dst []byte, parts [][]byte) {
	var result, moved, first block
	size := kind.Size()
	place := func(b []byte, spare *block) []byte {
		if aligned(b, size) {
			return b
		}
		there := spare.bytes(len(b))
		copy(there, b)
		return there
	}
	for from := 0; from < len(dst); from += blockBytes {
		to := min(from+blockBytes, len(dst))
		acc := place(parts[0][from:to], &first)
		out := result.bytes(to - from)
		for _, part := range parts[1:] {
			combine(kind, op, out, acc, place(part[from:to], &moved))
			acc = out
		}
		copy(dst[from:to], out)
	}
}

// combine stores a op b into dst, all aligned and equally long; dst may be a.
// Switches instead of func values let the scratch blocks stay on the stack.
func combine(kind Kind, op Op, dst, a, b []byte) {
	switch kind {
	case Int8:
		integers(op, elements[int8](dst), elements[int8](a), elements[int8](b))
	case Int16:
		integers(op, elements[int16](dst), elements[int16](a), elements[int16](b))
	case Int32:
		integers(op, elements[int32](dst), elements[int32](a), elements[int32](b))
	case Int64:
		integers(op, elements[int64](dst), elements[int64](a), elements[int64](b))
	case Uint8:
		integers(op, elements[uint8](dst), elements[uint8](a), elements[uint8](b))
	case Uint16:
		integers(op, elements[uint16](dst), elements[uint16](a), elements[uint16](b))
	case Uint32:
		integers(op, elements[uint32](dst), elements[uint32](a), elements[uint32](b))
	case Uint64:
		integers(op, elements[uint64](dst), elements[uint64](a), elements[uint64](b))
	case Float32:
		floats(op, elements[float32](dst), elements[float32](a), elements[float32](b))
	case Float64:
		floats(op, elements[float64](dst), elements[float64](a), elements[float64](b))
	}
}

// integers stores a op b into dst, element by element.
func integers[T Integer](op Op, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)] // no bounds are checked below
	switch op {
	case Sum:
		for i := range dst {
			dst[i] = a[i] + b[i]
		}
	case Prod:
		for i := range dst {
			dst[i] = a[i] * b[i]
		}
	case Min:
		for i := range dst {
			dst[i] = min(a[i], b[i])
		}
	case Max:
		for i := range dst {
			dst[i] = max(a[i], b[i])
		}
	case And:
		for i := range dst {
			dst[i] = a[i] & b[i]
		}
	case Or:
		for i := range dst {
			dst[i] = a[i] | b[i]
		}
	case Xor:
		for i := range dst {
			dst[i] = a[i] ^ b[i]
		}
	}
}

// floats stores a op b into dst, element by element. The min and max of Go order
// zeros and let NaNs win, as the package promises; which NaN is for firstNaN.
func floats[T Float](op Op, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)] // no bounds are checked below
	switch op {
	case Sum:
		for i := range dst {
			dst[i] = firstNaN(a[i]+b[i], a[i], b[i])
		}
	case Prod:
		for i := range dst {
			dst[i] = firstNaN(a[i]*b[i], a[i], b[i])
		}
	case Min:
		for i := range dst {
			dst[i] = firstNaN(min(a[i], b[i]), a[i], b[i])
		}
	case Max:
		for i := range dst {
			dst[i] = firstNaN(max(a[i], b[i]), a[i], b[i])
		}
	}
}

// firstNaN is result, or if that is a NaN the one of its operands that is one, a
// before b, made quiet. The compiler may turn a + b round, and processors differ
// in which of two NaNs they keep.
func firstNaN[T Float](result, a, b T) T {
	switch {
	case result == result:
		return result
	case a != a:
		return a + a
	case b != b:
		return b + b
	}
	return result // ∞ - ∞ or 0 · ∞: the processor's own NaN
}
