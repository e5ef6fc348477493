package reduce_test

import (
	"encoding/binary"
	"fmt"

	"github.com/symwin/symwin/internal/reduce"
)

// Three ranks' parts are added in their order, into the memory of the second.
func Example() {
	sum, err := reduce.For[int32](reduce.Sum)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b, c := numbers(1, 2, 3), numbers(10, 20, 30), numbers(100, 200, 300)
	sum.Into(b, a, b, c)
	fmt.Println(sum, show(b))
	// Output: sum of int32 [111 222 333]
}

// A pipeline adds what has come so far.
func ExampleReduction_Into() {
	highest, err := reduce.For[int32](reduce.Max)
	if err != nil {
		fmt.Println(err)
		return
	}
	result := numbers(1, 5, 3)
	for _, part := range [][]byte{numbers(2, 2, 2), numbers(0, 9, -1)} {
		highest.Into(result, result, part)
	}
	fmt.Println(highest, show(result))
	// Output: max of int32 [2 9 3]
}

func ExampleFor() {
	_, err := reduce.For[float32](reduce.And)
	fmt.Println(err)
	// Output: reduce: and is not defined on float32, only on integers; floats have sum, prod, min, max
}

func numbers(values ...int32) (b []byte) {
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func show(b []byte) (values []int32) {
	for ; len(b) > 0; b = b[4:] {
		values = append(values, int32(binary.NativeEndian.Uint32(b)))
	}
	return values
}
