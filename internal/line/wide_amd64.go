//go:build amd64 && !noasm && !race

package line

import (
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Copy copies src to the beginning of dst, which is at least as long and does not
// overlap it. It is for what fits the first-level cache: there, registers of 64 bytes
// take two thirds of the time of Go's copy, which uses 32 (Zen 5, ns: 4 KiB 30 and 20,
// 8 KiB 56 and 38, 16 KiB 112 and 73). Copies that are longer, or so short that a few
// ns are all there is to gain, are Go's. The first one of those between finds out, for
// some ten µs, whether that is so here. It may be called concurrently.
func Copy(dst, src []byte) {
	if uint(len(src)-wideLeast) < wideMost-wideLeast && len(dst) >= len(src) && wideIsFaster() {
		copyWide(&dst[0], &src[0], len(src))
		return
	}
	copy(dst, src)
}

const (
	wideLeast = 4 << 10
	wideMost  = 32 << 10
)

// copyWide copies n bytes, 64 at least.
//
//go:noescape
func copyWide(dst, src *byte, n int)

// wide is what is known of copyWide on this processor: written by whoever asks first,
// and by all who ask meanwhile; each writes what it has found.
var wide atomic.Uint32

const (
	wideFaster = 1 + iota
	wideNoFaster
)

func wideIsFaster() bool {
	if w := wide.Load(); w != 0 {
		return w == wideFaster
	}
	return tryWide()
}

// tryWide tries it, where it does not make the processor lower its clock for the whole
// program, as those before Ice Lake do (which have no VBMI either).
func tryWide() bool {
	found := uint32(wideNoFaster)
	if cpu.X86.HasAVX512VBMI {
		const clearly = 0.9
		dst, src := make([]byte, 4<<10), make([]byte, 4<<10)
		goes := leastTime(func() { copy(dst, src) })
		if float64(leastTime(func() { copyWide(&dst[0], &src[0], len(src)) })) < clearly*float64(goes) {
			found = wideFaster
		}
	}
	wide.Store(found)
	return found == wideFaster
}

// leastTime is how long a short f takes at least, many times over.
func leastTime(f func()) time.Duration {
	const tries, times = 20, 32
	least := time.Duration(math.MaxInt64)
	for range tries {
		start := time.Now()
		for range times {
			f()
		}
		least = min(least, time.Since(start))
	}
	return least
}
