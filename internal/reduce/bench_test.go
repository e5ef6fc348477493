package reduce

import (
	"fmt"
	"testing"
	"time"
	"unsafe"
)

// BenchmarkInto measures reductions beside plain copies of one part, turn and turn
// about, and takes the fastest burst of each. "rate" is how fast bytes are moved
// (read and written), relative to the copy's: 1 is the speed of memory. Parts lie
// as in windows, all at the same place of their 2 MiB.
func BenchmarkInto(b *testing.B) {
	const most, stride, piece = 8, 18 << 20, 512 << 10
	memory := make([]byte, (most+2)*stride)
	start := -int(uintptr(unsafe.Pointer(&memory[0]))) & (2<<20 - 1)
	window := func(i int) []byte { return memory[start+i*stride:] }
	for i := range memory {
		memory[i] = [...]byte{1, 2, 0x80, 0x3f}[i%4] // numbers near 1 as float32, near 0.01 as float64
	}
	type shape struct{ parts, bytes, shift int }
	var shapes []shape
	for _, bytes := range []int{4 << 10, 64 << 10, 1 << 20, 16 << 20} {
		for _, parts := range []int{2, 3, 4, 8} {
			shapes = append(shapes, shape{parts, bytes, 0})
		}
	}
	askew := []shape{{2, 4 << 10, 4}, {2, 64 << 10, 4}, {2, 1 << 20, 4}}
	small := []shape{{2, 8, 0}, {2, 64, 0}, {2, 256, 0}, {2, 1 << 10, 0}, {8, 1 << 10, 0}}
	measure := func(kind Kind, op Op, s shape) {
		r, err := Of(kind, op)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%v/%v/parts=%d/bytes=%d/shift=%d", op, kind, s.parts, s.bytes, s.shift), func(b *testing.B) {
			var parts [][]byte
			for i := range s.parts {
				parts = append(parts, window(1 + i)[s.shift:][:s.bytes])
			}
			dst := window(0)[:s.bytes]
			burst := max(1, (128<<10)/s.bytes)
			reducing, copying := time.Hour, time.Hour
			for b.Loop() {
				t0 := time.Now()
				for range burst {
					r.Into(dst, parts...)
				}
				t1 := time.Now()
				for i := range burst {
					part := parts[i%len(parts)]
					for from := 0; from < s.bytes; from += piece { // from 1 MiB on, copy streams
						to := min(from+piece, s.bytes)
						copy(dst[from:to], part[from:to])
					}
				}
				reducing, copying = min(reducing, t1.Sub(t0)), min(copying, time.Since(t1))
			}
			b.ReportMetric(float64(s.parts+1)/2*float64(copying)/float64(reducing), "rate")
			b.ReportMetric(float64(reducing)/float64(burst), "ns/Into")
			b.ReportMetric(float64(copying)/float64(burst), "ns/copy")
			b.ReportMetric(0, "ns/op")
		})
	}
	for _, s := range shapes {
		measure(Float32, Sum, s)
		measure(Float32, Min, s)
	}
	for _, s := range append(askew, small...) {
		measure(Float32, Sum, s)
	}
	for op := Sum; op.known(); op++ {
		for kind := Int8; kind.known(); kind++ {
			if op.appliesTo(kind) {
				measure(kind, op, shape{2, 64 << 10, 0})
			}
		}
	}
}
