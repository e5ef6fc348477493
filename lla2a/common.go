package lla2a

import (
	"encoding/binary"

	"github.com/symwin/symwin/internal/line"
	shmsync "github.com/symwin/symwin/sync"
)

// common is memory that all members of a team write into and read from, in the
// window of member 0. Where ranks share CPUs it takes the place of slots, for
// what fits: there is little to gain by having data and flag in one line, since
// everybody waits for his turn anyway, and much by touching few pages, since each
// turn begins with cold translation tables. With slots a member writes on a page
// of every other and looks at as many doorbells.
//
// First come three words for each member, packed; then two regions, for even and
// for odd epochs, and in each a row for every member, packed too: what it has to
// say, for whomever, stored once.
//
//	0     how many rows have been stored, of all members
//	128   by member: flags, how many rows it has stored
//	then  by member: how many epochs it has ended
//	then  by region and member: head, which call the row belongs to
//	then  the regions
//
// A member stores row and head plainly, then its flag, and then adds one to the
// count (a locked instruction: release). Whoever sees the count complete (acquire)
// may read all rows; one line tells. Only the member that completed it has made
// any wait come true, so it alone rings. A row is stored again two epochs later,
// as a slot is, when all are known to have ended the epoch in between.
//
// The count grows by the number of members in each of these epochs, and cannot be
// ahead by a part of the next: nobody adds again before it was complete.
type common struct {
	me, members int
	words       []uint64
	bytes       []byte // of both regions
	tally       *shmsync.Tally
	met         uint64 // epochs in which rows were exchanged
}

// commonRegion is the room for the rows of one epoch: of 32 members with 8 bytes
// for each 8 KiB, so small that all of it stays in a cache of the second level.
const commonRegion = 64 << 10

// commonWords are the words before the regions.
func commonWords(members int) int { return roundUp(apart/8+4*members, apart/8) }

func commonSize(members int) int { return 8*commonWords(members) + 2*commonRegion }

// newCommon is the common memory of so many members at the beginning of m.
func newCommon(m []byte, members, me int) *common {
	words := wordsOf(m[:8*commonWords(members)])
	c := &common{me: me, members: members, words: words, bytes: m[8*len(words):]}
	flags := make([]*uint64, members)
	for r := range flags {
		flags[r] = c.flag(r)
	}
	flags[me] = nil // the own one is not waited for
	c.tally = shmsync.NewTally(&words[0], flags, me+1)
	return c
}

func (c *common) flag(r int) *uint64  { return &c.words[apart/8+r] }
func (c *common) ended(r int) *uint64 { return &c.words[apart/8+c.members+r] }

// heads are those of a region, by member.
func (c *common) heads(region int) []uint64 {
	return c.words[apart/8+(2+region)*c.members:][:c.members]
}

// fits tells whether rows of size bytes do.
func (c *common) fits(size int) bool { return c.members*stride(size) <= commonRegion }

// stride is from one row to the next. Rows share lines: there are few CPUs here to
// take one from each other, and fewer lines to read.
func stride(size int) int { return roundUp(size, 16) }

// row is member r's row of size bytes.
func (c *common) row(region, r, size int) []byte {
	return c.bytes[region*commonRegion+r*stride(size):][:size:size]
}

// put stores the own row and reports whether it was the last one.
func (c *common) put(region int, head uint64, p []byte) (last bool) {
	copy(c.row(region, c.me, len(p)), p)
	c.heads(region)[c.me] = head
	c.met++
	c.tally.Expect(c.met*uint64(c.members), c.met)
	line.StoreRelease64(c.flag(c.me), c.met)
	return c.tally.Arrive()
}

// belong tells whether all rows are of one call.
func (c *common) belong(region int, head uint64) bool {
	for _, h := range c.heads(region) {
		if h != head {
			return false
		}
	}
	return true
}

// gather copies what lies at byte `at` of every row of so many bytes into dst, one
// after the other, size bytes of each.
func (c *common) gather(dst []byte, region, bytes, at, size int) {
	from, step := c.bytes[region*commonRegion+at:], stride(bytes)
	if size == 8 {
		// Words, the counts of others: lines of as many members as the processor
		// can fetch at once, which calls of copy would keep it from.
		for r := range c.members {
			binary.LittleEndian.PutUint64(dst[8*r:], binary.LittleEndian.Uint64(from[r*step:]))
		}
		return
	}
	for r := range c.members {
		copy(dst[r*size:(r+1)*size], from[r*step:])
	}
}
