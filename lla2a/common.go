package lla2a

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
	shmsync "github.com/symwin/symwin/sync"
	"github.com/symwin/symwin/window"
)

// common is how the members exchange where ranks share CPUs: each stores once, in a
// row of its own, what it has to say for whomever, and all read from it. There is
// little to gain there by having data and flag in one line, since everybody waits
// for his turn anyway, and much by touching few pages, since each turn begins with
// cold translation tables. With slots a member stores on a page of every other, and
// looks at as many doorbells.
//
// Short rows lie packed in member 0's memory, longer ones each in its member's. In
// front of the packed ones stand a count and some words for each member:
//
//	0     how many rows have been stored, of all members
//	64    how many members wait for room
//	128   by member: flags, how many rows it has stored
//	then  by member: how many epochs it has ended
//	then  by region and member: head, which call the row belongs to
//	then  by region: packed rows
//
// A member stores row and head plainly, then its flag, and then adds one to the
// count (a locked instruction: release). Whoever sees the count complete (acquire)
// may read all rows; one line tells. Only the member that completed it has made
// any wait come true, so it alone rings; but who has ended an epoch and sees that
// somebody waits for room does so, too. A row is stored again two epochs later, as a
// slot is, when all are known to have ended the epoch in between.
//
// The count grows by the number of members in each of these epochs, and cannot be
// ahead by a part of the next: nobody adds again before it was complete.
type common struct {
	plan   *plan
	me     int
	words  []uint64
	packed []byte // of both regions
	all    []slots
	tally  *shmsync.Tally
	met    uint64 // epochs in which rows were exchanged
	fence  atomic.Uint32
}

// commonRegion is the room for the packed rows of one epoch: of 32 members with 8
// bytes for each 8 KiB, so small that all stays in a cache of the second level.
const commonRegion = 64 << 10

// commonWords are the words before the regions.
func commonWords(members int) int { return roundUp(apart/8+4*members, apart/8) }

func commonSize(members int) int { return 8*commonWords(members) + 2*commonRegion }

func newCommon(p *plan, all []slots, me int) *common {
	m := all[0].bytes[p.commonAt()*slotLine:]
	words := wordsOf(m[:8*commonWords(p.members)])
	c := &common{plan: p, me: me, words: words, packed: m[8*len(words):], all: all}
	flags := make([]*uint64, p.members)
	for r := range flags {
		flags[r] = c.flag(r)
	}
	flags[me] = nil // the own one is not waited for
	c.tally = shmsync.NewTally(&words[0], flags, me+1)
	return c
}

// room is how many members wait for others to end epochs: each adds one before it
// looks for the last time and parks, and takes it back. Who has ended an epoch passes a
// full barrier and looks here (wanted): one of both sees the other. A member that died
// waiting leaves its one behind, which costs rings that nobody needs.
func (c *common) room() *uint64 { return &c.words[roomWord] }

const roomWord = slotLine / 8

func (c *common) wanted() bool {
	c.fence.Add(1)
	return atomic.LoadUint64(c.room()) != 0
}

func (c *common) flag(r int) *uint64  { return &c.words[apart/8+r] }
func (c *common) ended(r int) *uint64 { return &c.words[apart/8+c.plan.members+r] }

// heads are those of a region, by member.
func (c *common) heads(region int) []uint64 {
	return c.words[apart/8+(2+region)*c.plan.members:][:c.plan.members]
}

// packs tells whether rows of size bytes lie in member 0's memory, and how far
// apart. They share lines there: there are few CPUs to take one from each other,
// and fewer lines to read.
func (c *common) packs(size int) (step int, packed bool) {
	if fixedRows {
		step = commonRegion / c.plan.members &^ 15
		return step, size <= step
	}
	step = roundUp(size, 16)
	return step, c.plan.members*step <= commonRegion
}

// row is member r's row of size bytes.
func (c *common) row(region, r, size int) []byte {
	if step, packed := c.packs(size); packed {
		return c.packed[region*commonRegion+r*step:][:size:size]
	}
	return c.all[r].bytes[c.plan.rowAt(region)*slotLine:][:size:size]
}

// put stores the own row and reports whether it was the last one.
func (c *common) put(region int, head uint64, p []byte) (last bool) {
	window.Copy(c.row(region, c.me, len(p)), p)
	c.heads(region)[c.me] = head
	c.met++
	c.tally.Expect(c.met*uint64(c.plan.members), c.met)
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
	if step, packed := c.packs(bytes); packed && size == 8 {
		// A word, a count: a call of copy would cost more than it, and keep the
		// processor from fetching the lines of many members at once.
		from := c.packed[region*commonRegion+at:]
		for r := range c.all {
			binary.LittleEndian.PutUint64(dst[8*r:], binary.LittleEndian.Uint64(from[r*step:]))
		}
		return
	}
	for r := range c.all {
		window.Copy(dst[r*size:(r+1)*size], c.row(region, r, bytes)[at:][:size])
	}
}
