package line

import "sync/atomic"

// LoadRecord reads a record that PublishRecord may be writing at the same time,
// and reports whether it caught a whole one. Word 7 is loaded first and word 0
// last; the writer stores them the other way round, so equal values mean that
// no store fell between. Each load is an acquire (plain on amd64, LDAR on arm64)
// and each store a release, hence neither side's accesses change order.
func LoadRecord(src *[8]uint64) (rec [8]uint64, ok bool) {
	for i := 7; i >= 0; i-- {
		rec[i] = atomic.LoadUint64(&src[i])
	}
	return rec, rec[0] == rec[7]
}
