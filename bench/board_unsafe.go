package bench

import "unsafe"

// pageSize is what the board takes of every window.
const pageSize = int64(unsafe.Sizeof(page{}))

// pageOf is the page in an area, which is page-aligned and pageSize long.
func pageOf(b []byte) *page { return (*page)(unsafe.Pointer(&b[:pageSize][0])) }
