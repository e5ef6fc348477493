//go:build amd64 && !noasm && !race

package line

// Pause tells the processor that this is a spin loop (PAUSE). It is not
// inlined; with the call it costs about what the pause alone does.
//
//go:noescape
func Pause()

// StoreRelease64 stores v with release ordering: everything stored before is
// visible to whoever reads v with acquire ordering. On amd64 every plain store
// is one; sync/atomic's Store is an XCHG there and drains the store buffer,
// 2.2 ns against 0.3. Being a call, it cannot be moved by the compiler either; and
// being one in Go, it takes its arguments in registers, which an assembly leaf
// cannot.
//
//go:noinline
func StoreRelease64(p *uint64, v uint64) { *p = v }

// StoreRelease32 is StoreRelease64 for 32 bits.
//
//go:noinline
func StoreRelease32(p *uint32, v uint32) { *p = v }

// PublishRecord stores the eight words of src into dst, word 0 first and word 7
// last, each with release ordering. A reader that loads word 7 first and word 0
// last (LoadRecord) and finds them equal has read one whole record.
//
//go:noescape
func PublishRecord(dst, src *[8]uint64)

// TakeLines begins to fetch the cache lines of so many bytes from p on, which are
// one at least, to write them (PREFETCHW), and waits for none of them.
//
//go:noescape
func TakeLines(p *uint64, bytes int)

// FetchLines is TakeLines for lines to be read (PREFETCHT0).
//
//go:noescape
func FetchLines(p *uint64, bytes int)
