package lla2a

import "github.com/symwin/symwin/epoch"

// abreast tells a receiver when to stand back. One that has caught up with a sender
// who is still sending looks at the line that is being written, so each line goes
// there and back, and whoever is faster, both are as slow as that. If it lets a few
// come, and then takes them one after the other, most lines make one way only (64
// messages in flight, Zen 5, ns each: 128 bytes 30 and 20, 512 bytes 48 and 34).
//
// That delays a message, so it is for streams alone: behind several receives in a row
// that had to wait, of one sender, in one epoch, without a send of this session in
// between that one of them may have answered. If it has gained fewer than a few
// messages, by the numbers of their slots, the sender is slow by itself, and counting
// begins anew.
type abreast struct {
	from, j int // the last receive that had to wait
	in      epoch.Index
	sent    sent // what had been sent before it
	inARow  int
	stood   bool // it stood back
}

const (
	aStream  = 4 // receives in a row that have to wait
	aGain    = 3 // messages
	standing = 6 // pauses: on Zen 5, where a line takes 50 ns, 150 ns
)

// waits notes a receive that has to wait, and reports whether to stand back first.
func (a *abreast) waits(from, j int, in epoch.Index, last sent) bool {
	switch {
	case from != a.from || in != a.in || last != a.sent:
		a.inARow = 0
	case a.stood && j-a.j < aGain:
		a.inARow = 0
	}
	a.inARow++
	a.from, a.j, a.in, a.sent = from, j, in, last
	a.stood = a.inARow > aStream
	return a.stood
}
