package symmem

import (
	"unsafe"

	shmsync "github.com/symwin/symwin/sync"
)

type doorbellLine = shmsync.Doorbell

const (
	// Three pairs of lines beside a whole number of pages, so that the same
	// word of two ranks differs in its lowest twelve bits: a processor takes a
	// load for dependent on an earlier store with the same ones, and a barrier
	// that stores the own word and loads the peer's would wait for the store's
	// line before it even asks for the other (medians of 7 runs: 154 ns, not 165).
	blockBytes = (int64(unsafe.Sizeof(block{}))+pageBytes-1)&^(pageBytes-1) + 6*lineBytes

	blocksOff = 2 * pageBytes
)

// Sizes that the layout promises: lines are lines.
var (
	_ [lineBytes]byte                                 = [unsafe.Sizeof(doorbellLine{})]byte{}
	_ [0]byte                                         = [unsafe.Sizeof(block{}) % lineBytes]byte{}
	_ [0]byte                                         = [unsafe.Sizeof(place{}) % (2 * lineBytes)]byte{}
	_ [0]byte                                         = [unsafe.Sizeof(notice{}) % lineBytes]byte{}
	_ [0]byte                                         = [unsafe.Sizeof(identity{}) % lineBytes]byte{}
	_ [0]byte                                         = [unsafe.Sizeof(waitRecord{}) % lineBytes]byte{}
	_ [0]byte                                         = [unsafe.Offsetof(block{}.teams) % (2 * lineBytes)]byte{}
	_ [pageBytes - unsafe.Sizeof(commons{})%4096]byte // commons fits its page
)

// overlay lays the typed structures over the control part of a region.
func overlay(control []byte, size int) (*commons, []*block) {
	head := (*commons)(unsafe.Pointer(&control[pageBytes]))
	blocks := make([]*block, size)
	for r := range blocks {
		off := blocksOff + int64(r)*blockBytes
		_ = control[off+blockBytes-1]
		blocks[r] = (*block)(unsafe.Pointer(&control[off]))
	}
	return head, blocks
}

// alignedHeap returns n zero bytes of Go heap that start on a page boundary, for
// worlds inside one process: the race detector sees them.
func alignedHeap(n int64) []byte {
	b := make([]byte, n+pageBytes)
	skip := -uintptr(unsafe.Pointer(&b[0])) & (pageBytes - 1)
	return b[skip : int64(skip)+n : int64(skip)+n]
}

func lifeWord(b *block) *uint32 { return (*uint32)(unsafe.Pointer(&b.life)) }

func joinedWord(c *commons) *uint32 { return (*uint32)(unsafe.Pointer(&c.joined)) }
