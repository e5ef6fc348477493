package lla2a

import "github.com/symwin/symwin/window"

// arrivals is the Condition that blocks have come into slots: one member's, or
// all others'. It copies each as soon as it is there.
type arrivals struct {
	b      *Blocks
	tag    uint64 // of their epoch
	head   uint64 // of the call
	first  int    // line of member 0's slot
	step   int    // lines to the next member's
	boards bool   // they are for everybody, on their senders' boards, not in slots here
	dst    []byte // where they go, one after the other by member; nil: they stay
	size   int
	next   int  // the member looked at
	left   int  // members that have not been heard
	waited bool // a look did not find what it looked for
	odd    bool // a block has come that belongs to another call
}

// expectAll expects a block from every other member. It begins with the one after
// the own rank, so that not all members read the same one's board first.
func (a *arrivals) expectAll(dst []byte, size int, boards bool) {
	a.call(dst, size, boards)
	a.left, a.next = len(a.b.all)-1, a.b.me+1
	if a.next == len(a.b.all) {
		a.next = 0
	}
}

// call takes what is to be known of the present call, whose epoch may be over for
// its Blocks before all has come.
func (a *arrivals) call(dst []byte, size int, boards bool) {
	b := a.b
	a.tag, a.head, a.first, a.step = b.tag, b.head, b.first, b.step
	a.dst, a.size, a.boards, a.odd = dst, size, boards, false
}

// expectOne expects the block of so many bytes on root's board.
func (a *arrivals) expectOne(dst []byte, size, root int) {
	a.call(dst, size, true)
	a.left, a.next = 1, root
}

// Look implements shmsync.Condition.
func (a *arrivals) Look() bool {
	b := a.b
	for a.left > 0 {
		from, l := a.source(a.next), a.first+a.next*a.step
		if !from.has(l, a.tag) {
			a.waited = true
			return false
		}
		if from.head(l) != a.head {
			a.odd = true
			return true
		}
		if a.dst != nil {
			window.Copy(a.place(), from.block(l, a.size))
		}
		a.left--
		if a.next++; a.next == len(b.all) {
			a.next = 0
		}
	}
	return true
}

// source is whose memory the block of member s comes to.
func (a *arrivals) source(s int) *slots {
	if a.boards {
		return &a.b.all[s]
	}
	return &a.b.mine
}

// place is where the block of the member looked at goes.
func (a *arrivals) place() []byte {
	if len(a.dst) == a.size {
		return a.dst
	}
	return a.dst[a.next*a.size:][:a.size]
}

// Missing implements shmsync.Condition.
func (a *arrivals) Missing(into []int) []int {
	for k := range a.left {
		s := (a.next + k) % len(a.b.all)
		if !a.source(s).has(a.first+s*a.step, a.tag) {
			into = append(into, s)
		}
	}
	return into
}
