package lla2a

// arrivals is the Condition that the blocks of an operation have come, from one
// member or from all others. It copies each as soon as it is there.
type arrivals struct {
	me   int
	mine slots
	all  []slots

	boards bool // the blocks are for everybody: on their senders' boards, not in slots here
	at     int  // slot of member 0
	step   int  // from one member's slot to the next
	tag    uint64
	head   uint64

	dst  []byte // where the blocks go, one after the other by member; nil: they stay
	size int
	next int  // the member looked at
	left int  // members that have not been heard
	odd  bool // a block has come that belongs to another call

	everybody bool // all others are expected
}

// expectAll expects a block from every other member. It begins with the one after
// the own rank, so that not all members read the same one's board first.
func (a *arrivals) expectAll(dst []byte, size int) {
	a.dst, a.size, a.odd, a.everybody = dst, size, false, true
	a.left, a.next = len(a.all)-1, a.me+1
	if a.next == len(a.all) {
		a.next = 0
	}
}

// expectOne expects one member's block, into all of dst.
func (a *arrivals) expectOne(dst []byte, root int) {
	a.dst, a.size, a.odd, a.everybody = dst, len(dst), false, len(a.all) == 2
	a.left, a.next = 1, root
}

// Look implements shmsync.Condition.
func (a *arrivals) Look() bool {
	for a.left > 0 {
		from, at := a.source(a.next)
		if !from.has(at, a.tag) {
			return false
		}
		if from.head(at) != a.head {
			a.odd = true
			return true
		}
		if a.dst != nil {
			copy(a.place(), from.block(at, a.size))
		}
		a.left--
		if a.next++; a.next == len(a.all) {
			a.next = 0
		}
	}
	return true
}

// source is where the block of member s comes to.
func (a *arrivals) source(s int) (slots, int) {
	if a.boards {
		return a.all[s], a.at + s*a.step
	}
	return a.mine, a.at + s*a.step
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
		s := (a.next + k) % len(a.all)
		if from, at := a.source(s); !from.has(at, a.tag) {
			into = append(into, s)
		}
	}
	return into
}
