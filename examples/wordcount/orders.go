package main

import (
	"context"
	"encoding/binary"

	"github.com/symwin/symwin"
)

// Orders go one way, from rank 0 to each other rank: it puts a share into that
// rank's window and signals, and never waits. So it deals out what it has listed
// of the tree while it goes on listing, and later between two shares of its own;
// and whoever is faster counts more.
//
// Each rank's window is a ring of slots. The k-th order for a rank lies in slot
// k mod slots; signal 0 to the rank counts orders given, its signal 0 back to
// rank 0 counts those it has taken out.
type orders struct {
	*symwin.Window[byte]
	given []uint64 // on rank 0: to each rank
	taken uint64   // on the others: by this one
}

const (
	// slots is how many orders a rank has ahead of it: they must last it for as
	// long as rank 0 needs for one share of its own.
	slots = 4
	// slotBytes is the room of one: its length, its kind and a share.
	slotBytes = 16 << 10
	shareRoom = slotBytes - 5
)

// What an order says besides its share.
const (
	more  = iota // another order will follow
	last         // none will
	noDir        // rank 0 cannot read the directory: there is no job
)

func newOrders(ctx context.Context, w *symwin.World) (*orders, error) {
	win, err := symwin.Alloc[byte](ctx, w, slots*slotBytes)
	return &orders{Window: win, given: make([]uint64, w.Size())}, err
}

// wants reports whether rank to has room for another order.
func (o *orders) wants(ctx context.Context, to int) (bool, error) {
	taken, err := o.WaitSignal(ctx, to, 0, 0) // at least 0: a look
	return o.given[to]-taken < slots, err
}

// give gives an order. If there is no room it waits for it.
func (o *orders) give(ctx context.Context, to int, kind byte, s Share) error {
	k := o.given[to]
	if k >= slots {
		if _, err := o.WaitSignal(ctx, to, 0, k-slots+1); err != nil {
			return err
		}
	}
	o.given[to]++
	message := append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), kind)
	return o.PutSignal(to, int(k%slots)*slotBytes, append(message, s...), 0)
}

// take waits for the next order.
func (o *orders) take(ctx context.Context) (s Share, kind byte, err error) {
	if _, err = o.WaitSignal(ctx, 0, 0, o.taken+1); err != nil {
		return nil, 0, err
	}
	slot := o.Local()[int(o.taken%slots)*slotBytes:][:slotBytes]
	size := binary.LittleEndian.Uint32(slot)
	if size > shareRoom {
		return nil, 0, errShare
	}
	s, kind = append(s, slot[5:5+size]...), slot[4]
	o.taken++
	return s, kind, o.Signal(0, 0)
}
