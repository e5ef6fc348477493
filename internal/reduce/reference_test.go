package reduce

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
)

// reference reduces parts one element at a time, in bits, with no knowledge of
// how the package does it.
func reference(kind Kind, op Op, parts [][]byte) []byte {
	out := make([]byte, len(parts[0]))
	size := kind.Size()
	for at := 0; at < len(out); at += size {
		acc := load(parts[0][at:], size)
		for _, part := range parts[1:] {
			acc = one(kind, op, acc, load(part[at:], size))
		}
		store(out[at:], size, acc)
	}
	return out
}

func load(b []byte, size int) (v uint64) {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

func store(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(v))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(v))
	default:
		binary.NativeEndian.PutUint64(b, v)
	}
}

// one is a op b of two elements in their bits.
func one(kind Kind, op Op, a, b uint64) uint64 {
	switch kind {
	case Float32:
		return oneFloat(op, a, b, 32, 0x7f800000, 0x00400000,
			func(v uint64) float64 { return float64(math.Float32frombits(uint32(v))) },
			func(x, y float64) uint64 { return uint64(math.Float32bits(float32(x) + float32(y))) },
			func(x, y float64) uint64 { return uint64(math.Float32bits(float32(x) * float32(y))) })
	case Float64:
		return oneFloat(op, a, b, 64, 0x7ff0000000000000, 0x0008000000000000,
			math.Float64frombits,
			func(x, y float64) uint64 { return math.Float64bits(x + y) },
			func(x, y float64) uint64 { return math.Float64bits(x * y) })
	}
	// Compared as numbers of 64 bits: extended by sign or by zero.
	up := 64 - 8*kind.Size()
	less := a < b
	if kind < Uint8 {
		less = int64(a<<up) < int64(b<<up)
	}
	switch op {
	case Sum:
		return a + b
	case Prod:
		return a * b
	case Min:
		if less {
			return a
		}
		return b
	case Max:
		if less {
			return b
		}
		return a
	case And:
		return a & b
	case Or:
		return a | b
	}
	return a ^ b
}

func oneFloat(op Op, a, b uint64, width int, infinity, quiet uint64, value func(uint64) float64, sum, prod func(x, y float64) uint64) uint64 {
	sign := uint64(1) << (width - 1)
	isNaN := func(v uint64) bool { return v&^sign > infinity }
	switch {
	case isNaN(a):
		return a | quiet
	case isNaN(b):
		return b | quiet
	}
	x, y := value(a), value(b)
	switch op {
	case Sum:
		return sum(x, y)
	case Prod:
		return prod(x, y)
	}
	aIsLess := x < y || x == y && a&sign != 0 // equal ones differ in the sign of zero at most
	if aIsLess == (op == Min) {
		return a
	}
	return b
}

// fill makes b elements of kind: half of them where arithmetic has its corners.
func fill(rng *rand.Rand, kind Kind, b []byte) {
	size := kind.Size()
	for at := 0; at < len(b); at += size {
		v := rng.Uint64()
		if kind.isFloat() {
			v = cornerFloat(rng, kind, v)
		} else if rng.IntN(2) == 0 {
			top := uint64(1) << (8*size - 1)
			v = [...]uint64{0, 1, 2, math.MaxUint64, top, top - 1, top + 1, top >> (4 * size)}[rng.IntN(8)]
		}
		store(b[at:], size, v)
	}
}

func cornerFloat(rng *rand.Rand, kind Kind, random uint64) uint64 {
	width, mantissa := 32, 23
	if kind == Float64 {
		width, mantissa = 64, 52
	}
	sign := random >> 63 << (width - 1)
	fraction := random & (1<<mantissa - 1)
	exponents := uint64(1)<<(width-1-mantissa) - 1 // all of them set: infinite or NaN
	middle := exponents >> 1
	switch rng.IntN(12) {
	case 0:
		return sign // zero
	case 1:
		return sign | exponents<<mantissa // infinity
	case 2:
		return sign | exponents<<mantissa | fraction | 1<<(mantissa-1) // quiet NaN
	case 3:
		return sign | exponents<<mantissa | fraction&^(1<<(mantissa-1)) | 1 // signalling NaN
	case 4:
		return sign | fraction // denormal
	case 5:
		return sign | (exponents-1)<<mantissa | fraction // about to overflow
	case 6:
		return sign | 1<<mantissa | fraction // about to become denormal
	case 7:
		return sign | middle<<mantissa // one
	default:
		return sign | (middle-4+uint64(bits.TrailingZeros64(random|256)))<<mantissa | fraction // of a size
	}
}
