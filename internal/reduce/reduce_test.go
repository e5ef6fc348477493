package reduce

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// everyReduction calls f for each operation on each kind it is defined on.
func everyReduction(t *testing.T, f func(t *testing.T, r Reduction)) {
	for op := Sum; op.known(); op++ {
		for kind := Int8; kind.known(); kind++ {
			r, err := Of(kind, op)
			if op >= And && kind.isFloat() {
				require.Error(t, err)
				continue
			}
			require.NoError(t, err)
			t.Run(r.String(), func(t *testing.T) { f(t, r) })
		}
	}
}

const guard = 64 // bytes around each operand that have to stay as they are

// operands are dst and parts of one call, each at its own misalignment. inPlace is
// the part that dst is, or -1.
type operands struct {
	memory [][]byte // dst's and then the parts', with their guards
	dst    []byte
	parts  [][]byte
}

func place(rng *rand.Rand, kind Kind, elements, n, inPlace int, askew bool) *operands {
	o := &operands{}
	length := elements * kind.Size()
	view := func() []byte {
		shift := 0
		if askew {
			shift = rng.IntN(32)
		}
		m := make([]byte, guard+shift+length+guard)
		fill(rng, Uint8, m)
		o.memory = append(o.memory, m)
		v := m[guard+shift:][:length:length]
		fill(rng, kind, v)
		return v
	}
	o.dst = view()
	for i := range n {
		part := o.dst
		if i != inPlace {
			part = view()
		}
		o.parts = append(o.parts, part)
	}
	return o
}

// verify runs one call as on each kind of processor, and looks at every byte of all
// of the memory.
func (o *operands) verify(r Reduction, reduce func(dst []byte, parts [][]byte)) (err error) {
	want := reference(r.kind, r.op, o.parts)
	before := make([][]byte, len(o.memory))
	for i, m := range o.memory {
		before[i] = bytes.Clone(m)
	}
	after := bytes.Clone(o.memory[0])
	copy(after[len(after)-guard-len(want):], want)
	onEachProcessor(func(name string) {
		reduce(o.dst, o.parts)
		if err == nil && !bytes.Equal(want, o.dst) {
			err = fmt.Errorf("%v, %s, %d parts: %s", r, name, len(o.parts), o.difference(r.kind.Size(), want, before))
		}
		for i, m := range o.memory {
			if i == 0 && !bytes.Equal(m, after) || i > 0 && !bytes.Equal(m, before[i]) {
				err = cmp.Or(err, fmt.Errorf("%v, %s, %d parts of %d bytes: memory %d changed outside of dst", r, name, len(o.parts), len(want), i))
			}
			copy(m, before[i])
		}
	})
	return err
}

// difference tells about the first wrong element.
func (o *operands) difference(size int, want []byte, before [][]byte) string {
	at := 0
	for want[at] == o.dst[at] {
		at++
	}
	at -= at % size
	var operands string
	for i, m := range before {
		from := len(m) - guard - len(want) + at
		operands += fmt.Sprintf(" memory %d %x", i, load(m[from:], size))
	}
	return fmt.Sprintf("at byte %d of %d got %x, want %x, from%s (memory 0 is dst)", at, len(want), load(o.dst[at:], size), load(want[at:], size), operands)
}

// lengths, in bytes, around everything a loop turns at: vectors, blocks of the
// leaves and of their twin.
func lengths(size int) (all []int) {
	for n := 0; n <= 72; n += size {
		all = append(all, n)
	}
	for n := 248; n <= 296; n += size {
		all = append(all, n)
	}
	for _, turn := range []int{blockBytes, 3 * blockBytes} {
		all = append(all, turn-8, turn, turn+8, turn+40)
	}
	return all
}

// TestEveryBit holds every reduction, of 1 to 8 parts, of any length, at any
// alignment, in place as every part in turn, against the reference.
func TestEveryBit(t *testing.T) {
	everyReduction(t, func(t *testing.T, r Reduction) {
		rng := rand.New(rand.NewPCG(uint64(r.op), uint64(r.kind)))
		turn := 0
		for _, length := range lengths(r.kind.Size()) {
			for _, n := range []int{1, 2, 3, 8} {
				turn++
				inPlace := turn % 9
				if inPlace >= n {
					inPlace = -1
				}
				o := place(rng, r.kind, length/r.kind.Size(), n, inPlace, turn%2 == 1)
				require.NoError(t, o.verify(r, func(dst []byte, parts [][]byte) { r.Into(dst, parts...) }))
			}
		}
	})
}

// TestLongOnes crosses the pieces that the leaves are called for, in place, with
// rests of every length a vector can leave.
func TestLongOnes(t *testing.T) {
	for _, r := range []Reduction{{Sum, Uint8}, {Min, Float32}, {Prod, Int64}} {
		rng := rand.New(rand.NewPCG(uint64(r.op), uint64(r.kind)))
		for _, n := range []int{3, 8} {
			piece := turns(n)
			for _, length := range []int{piece - 8, piece + 8, piece + 24, piece + 32, 2*piece + 40} {
				o := place(rng, r.kind, length/r.kind.Size(), n, rng.IntN(n), true)
				require.NoError(t, o.verify(r, func(dst []byte, parts [][]byte) { r.Into(dst, parts...) }))
			}
		}
	}
}

// TestInPlaceAsEachPart has dst as each part, and as several.
func TestInPlaceAsEachPart(t *testing.T) {
	everyReduction(t, func(t *testing.T, r Reduction) {
		rng := rand.New(rand.NewPCG(uint64(r.op), uint64(r.kind)))
		for _, length := range []int{8, 40, 264, 1100} {
			for _, n := range []int{1, 2, 4} {
				for as := range n {
					o := place(rng, r.kind, length/r.kind.Size(), n, as, true)
					o.parts = append(o.parts, o.dst, o.parts[0])
					require.NoError(t, o.verify(r, func(dst []byte, parts [][]byte) { r.Into(dst, parts...) }))
				}
			}
		}
	})
}

// TestTheRunningForm takes the parts one after the other, each in chunks.
func TestTheRunningForm(t *testing.T) {
	everyReduction(t, func(t *testing.T, r Reduction) {
		rng := rand.New(rand.NewPCG(uint64(r.op), uint64(r.kind)))
		o := place(rng, r.kind, 1200/r.kind.Size(), 5, 0, true)
		require.NoError(t, o.verify(r, func(dst []byte, parts [][]byte) {
			for _, part := range parts[1:] {
				for from := 0; from < len(dst); {
					to := min(from+8*(1+rng.IntN(50)), len(dst))
					r.Into(dst[from:to], dst[from:to], part[from:to])
					from = to
				}
			}
		}))
	})
}

// TestFloatCorners spells the promises about floats out, in bits.
func TestFloatCorners(t *testing.T) {
	const (
		minus0, minusInf = 1 << 31, 0xff800000
		inf, one, two    = 0x7f800000, 0x3f800000, 0x40000000
		nanA, nanB       = 0xffc00abc, 0x7fc00def // quiet
		signalling       = 0x7f800123
		nobodys          = 0xffc00000 // the NaN of a processor
	)
	for _, c := range []struct {
		op    Op
		parts []uint32
		want  uint32
	}{
		{Min, []uint32{0, minus0}, minus0},
		{Min, []uint32{minus0, 0}, minus0},
		{Max, []uint32{0, minus0}, 0},
		{Max, []uint32{minus0, 0}, 0},
		{Max, []uint32{minus0, minus0}, minus0},
		{Min, []uint32{one, inf, minusInf}, minusInf},
		{Sum, []uint32{minus0, minus0}, minus0},
		{Sum, []uint32{minus0, 0}, 0},
		{Sum, []uint32{1, 1}, 2}, // denormal
		{Prod, []uint32{0x00800000, 0x3f000000}, 0x00400000},
		{Sum, []uint32{0x7f7fffff, 0x7f7fffff}, inf},
		{Sum, []uint32{0x7f7fffff, 0x7f7fffff, minusInf}, nobodys}, // ∞ - ∞
		{Sum, []uint32{0x4b800000, one, one}, 0x4b800000},          // (2²⁴+1)+1, not 2²⁴+(1+1)
		{Sum, []uint32{one, nanA, nanB}, nanA},
		{Prod, []uint32{one, nanB, nanA}, nanB},
		{Min, []uint32{one, nanA, nanB, two}, nanA},
		{Max, []uint32{nanB, inf, nanA}, nanB},
		{Max, []uint32{signalling, one}, signalling | 0x00400000},
		{Min, []uint32{one, two, signalling}, signalling | 0x00400000},
		{Sum, []uint32{signalling}, signalling}, // one part is copied
	} {
		r, err := For[float32](c.op)
		require.NoError(t, err)
		for _, elements := range []int{1, 7, 8, 65} { // without and with a vector
			parts := make([][]byte, len(c.parts))
			for i, v := range c.parts {
				parts[i] = make([]byte, 4*elements)
				for e := range elements {
					store(parts[i][4*e:], 4, uint64(v))
				}
			}
			onEachProcessor(func(name string) {
				dst := make([]byte, 4*elements)
				r.Into(dst, parts...)
				for e := range elements {
					got := uint32(load(dst[4*e:], 4))
					if c.want == nobodys {
						got |= 1 << 31 // the sign is the processor's
					}
					require.Equalf(t, c.want, got, "%s, %v of %x: got %x, want %x", name, c.op, c.parts, got, c.want)
				}
			})
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	var dst, a, b [300]byte
	everyReduction(t, func(t *testing.T, r Reduction) {
		onEachProcessor(func(name string) {
			require.Zero(t, testing.AllocsPerRun(10, func() {
				r.Into(dst[:8], dst[:8], a[:8])
				r.Into(dst[:296], a[:296], b[3:299], dst[:296])
			}), name)
		})
	})
}

func TestBrokenRulesPanicBeforeAByteIsStored(t *testing.T) {
	sum, err := For[int32](Sum)
	require.NoError(t, err)
	memory := make([]byte, 64)
	for what, c := range map[string]struct {
		call func()
		want string
	}{
		"no part":         {func() { sum.Into(memory[:8]) }, "no part"},
		"half":            {func() { sum.Into(memory[:6], memory[:6]) }, "6 bytes are no whole number of int32"},
		"short part":      {func() { sum.Into(memory[:8], memory[:8], memory[16:20]) }, "part 1 has 4 bytes, dst has 8"},
		"nil part":        {func() { sum.Into(memory[:8], nil) }, "part 0 has 0 bytes"},
		"askew":           {func() { sum.Into(memory[4:12], memory[32:40], memory[8:16]) }, "part 1 overlaps dst"},
		"askew the other": {func() { sum.Into(memory[4:12], memory[:8], memory[32:40]) }, "part 0 overlaps dst"},
		"zero":            {func() { Reduction{}.Into(memory[:8], memory[:8]) }, "zero Reduction"},
	} {
		t.Run(what, func(t *testing.T) {
			defer func() { require.Contains(t, fmt.Sprint(recover()), c.want) }()
			c.call()
		})
	}
	require.Equal(t, make([]byte, 64), memory)
	require.NotPanics(t, func() { sum.Into(nil, nil, nil); sum.Into(memory[4:12], memory[12:20]) })
}

func TestOpsAndKinds(t *testing.T) {
	type meters float32
	type flags uint16
	require.Equal(t, Float32, KindOf[meters]())
	require.Equal(t, Uint16, KindOf[flags]())
	require.Equal(t, []Kind{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float32, Float64}, []Kind{
		KindOf[int8](), KindOf[int16](), KindOf[int32](), KindOf[int64](),
		KindOf[uint8](), KindOf[uint16](), KindOf[uint32](), KindOf[uint64](),
		KindOf[float32](), KindOf[float64](),
	})
	require.Equal(t, math.MaxInt>>31 > 1, KindOf[int]() == Int64)
	require.Equal(t, KindOf[int]().Size(), KindOf[uint]().Size())
	for kind, size := range map[Kind]int{0: 0, Int8: 1, Int64: 8, Uint8: 1, Uint16: 2, Uint32: 4, Uint64: 8, Float32: 4, Float64: 8, 11: 0} {
		require.Equal(t, size, kind.Size(), kind)
	}
	require.Equal(t, "max of uint16", Reduction{Max, Uint16}.String())
	require.Equal(t, "Op(0) of Kind(11)", Reduction{0, 11}.String())

	var wrong *OpError
	_, err := For[float64](Xor)
	require.True(t, errors.As(err, &wrong))
	require.Equal(t, OpError{Xor, Float64}, *wrong)
	require.EqualError(t, err, "reduce: xor is not defined on float64, only on integers; floats have sum, prod, min, max")
	_, err = For[int](0)
	require.ErrorContains(t, err, "Op(0) is no operation")
	_, err = Of(0, Sum)
	require.ErrorContains(t, err, "Kind(0) is no kind")
}

// FuzzTwins holds the leaves against their twin in Go: any bytes, as every kind,
// with every operation, cut anywhere.
func FuzzTwins(f *testing.F) {
	f.Add([]byte("elements of every kind, and NaNs \x7f\xf0\x00\x01\xff\xc0\x00\x01 among them, in three parts or so"), byte(Min), byte(Float64), byte(3), byte(1))
	f.Add(bytes.Repeat([]byte{0x80, 0, 0, 0, 0, 0, 0, 0x7f}, 200), byte(Max), byte(Float32), byte(2), byte(4))
	f.Fuzz(func(t *testing.T, data []byte, op, kind, n, askew byte) {
		r, err := Of(Int8+Kind(kind)%Float64, Sum+Op(op)%Xor)
		if err != nil {
			return
		}
		n = 1 + n%9
		// Parts lie one after the other, dst over one of them or nowhere.
		data = data[min(int(askew), len(data)):]
		length := len(data) / int(n)
		length -= length % r.kind.Size()
		split := func(memory []byte) (parts [][]byte) {
			for i := range int(n) {
				parts = append(parts, memory[i*length:][:length])
			}
			return parts
		}
		for as := -1; as < int(n) && as < 4; as++ {
			memory := bytes.Clone(data)
			parts := split(memory)
			dst := make([]byte, length)
			twin := make([]byte, length)
			if n == 1 {
				copy(twin, parts[0])
			} else {
				foldInGo(r.kind, r.op, twin, parts)
			}
			require.Equal(t, reference(r.kind, r.op, parts), twin, "the twin is wrong")
			if as >= 0 {
				dst = parts[as]
			}
			before := bytes.Clone(memory)
			onEachProcessor(func(name string) {
				copy(memory, before)
				r.Into(dst, parts...)
				require.Equal(t, twin, dst, "%v, %s, of %d parts, in place as %d", r, name, n, as)
			})
		}
	})
}
