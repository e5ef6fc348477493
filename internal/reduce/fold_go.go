package reduce

// foldInGo is the twin of the leaves and says what they must do. It carries one
// block of the result at a time through all parts, so that a dst that is one of
// the parts is overwritten only after it was read, and what lies askew is moved to
// where Go may load it.
func foldInGo(kind Kind, op Op, dst []byte, parts [][]byte) {
	var result, moved block
	size := kind.Size()
	for from := 0; from < len(dst); from += blockBytes {
		to := min(from+blockBytes, len(dst))
		acc := result.bytes(to - from)
		copy(acc, parts[0][from:to])
		for _, part := range parts[1:] {
			operand := part[from:to]
			if !aligned(operand, size) {
				operand = moved.bytes(to - from)
				copy(operand, part[from:to])
			}
			combine(kind, op, acc, operand)
		}
		copy(dst[from:to], acc)
	}
}

// combine stores acc op b into acc, both aligned and equally long. Switches instead
// of func values let the scratch blocks stay on the stack.
func combine(kind Kind, op Op, acc, b []byte) {
	switch kind {
	case Int8:
		integers(op, elements[int8](acc), elements[int8](b))
	case Int16:
		integers(op, elements[int16](acc), elements[int16](b))
	case Int32:
		integers(op, elements[int32](acc), elements[int32](b))
	case Int64:
		integers(op, elements[int64](acc), elements[int64](b))
	case Uint8:
		integers(op, elements[uint8](acc), elements[uint8](b))
	case Uint16:
		integers(op, elements[uint16](acc), elements[uint16](b))
	case Uint32:
		integers(op, elements[uint32](acc), elements[uint32](b))
	case Uint64:
		integers(op, elements[uint64](acc), elements[uint64](b))
	case Float32:
		floats(op, elements[float32](acc), elements[float32](b))
	case Float64:
		floats(op, elements[float64](acc), elements[float64](b))
	}
}

// integers stores acc op b into acc, element by element.
func integers[T Integer](op Op, acc, b []T) {
	b = b[:len(acc)] // no bounds are checked below
	switch op {
	case Sum:
		for i := range acc {
			acc[i] += b[i]
		}
	case Prod:
		for i := range acc {
			acc[i] *= b[i]
		}
	case Min:
		for i := range acc {
			acc[i] = min(acc[i], b[i])
		}
	case Max:
		for i := range acc {
			acc[i] = max(acc[i], b[i])
		}
	case And:
		for i := range acc {
			acc[i] &= b[i]
		}
	case Or:
		for i := range acc {
			acc[i] |= b[i]
		}
	case Xor:
		for i := range acc {
			acc[i] ^= b[i]
		}
	}
}

// floats stores acc op b into acc, element by element. The min and max of Go order
// zeros and let NaNs win, as the package promises; which NaN is for firstNaN.
func floats[T Float](op Op, acc, b []T) {
	b = b[:len(acc)] // no bounds are checked below
	switch op {
	case Sum:
		for i := range acc {
			acc[i] = firstNaN(acc[i]+b[i], acc[i], b[i])
		}
	case Prod:
		for i := range acc {
			acc[i] = firstNaN(acc[i]*b[i], acc[i], b[i])
		}
	case Min:
		for i := range acc {
			acc[i] = firstNaN(min(acc[i], b[i]), acc[i], b[i])
		}
	case Max:
		for i := range acc {
			acc[i] = firstNaN(max(acc[i], b[i]), acc[i], b[i])
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
