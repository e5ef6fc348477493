//go:build !amd64 || noasm || race

package line

import "sync/atomic"

// Pause is a spin loop's breath. Without a leaf it does nothing: the atomic
// loads around it cost as much as a pause would.
func Pause() {}

// StoreRelease64 stores v with release ordering: everything stored before is
// visible to whoever reads v with acquire ordering. On arm64 atomic.Store is
// STLR, which is just that.
func StoreRelease64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// StoreRelease32 is StoreRelease64 for 32 bits.
func StoreRelease32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

// PublishRecord stores the eight words of src into dst, word 0 first and word 7
// last, each with release ordering. A reader that loads word 7 first and word 0
// last (LoadRecord) and finds them equal has read one whole record.
func PublishRecord(dst, src *[8]uint64) {
	for i := range src {
		atomic.StoreUint64(&dst[i], src[i])
	}
}

// TakeLines begins to fetch cache lines for writing, where there is a leaf.
func TakeLines(p *uint64, bytes int) {}

// FetchLines begins to fetch cache lines for reading, where there is a leaf.
func FetchLines(p *uint64, bytes int) {}
