package epoch_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/symwin/symwin/epoch"
)

// Indices grow for ever, tags come round; the step from the last tag to the
// first is the one that members must take together.
func ExampleIndex() {
	for _, i := range []epoch.Index{0, 1, epoch.Lap - 2, epoch.Lap - 1, epoch.Lap} {
		fmt.Printf("epoch %d: tag %d, region %d, ends collectively: %v\n", i, i.Tag(), i.Region(), i.Wraps())
	}
	// Output:
	// epoch 0: tag 2, region 0, ends collectively: false
	// epoch 1: tag 3, region 1, ends collectively: false
	// epoch 4294967292: tag 4294967294, region 0, ends collectively: false
	// epoch 4294967293: tag 4294967295, region 1, ends collectively: true
	// epoch 4294967294: tag 2, region 0, ends collectively: false
}

// A sender may be one epoch ahead of what the receiver has ended, and no more.
func ExampleIndex_MayWrite() {
	i := epoch.Index(7)
	for ended := uint64(5); ended <= 7; ended++ {
		fmt.Printf("receiver has ended %d epochs: %v\n", ended, i.MayWrite(ended))
	}
	// Output:
	// receiver has ended 5 epochs: false
	// receiver has ended 6 epochs: true
	// receiver has ended 7 epochs: true
}

// A line that was caught half way has one half of each epoch, and says so.
func ExampleLine() {
	before := epoch.Pack(0x1111_1111_1111_1111, epoch.Index(4).Tag())
	after := epoch.Pack(0x2222_2222_3333_3333, epoch.Index(6).Tag())
	lo, _ := after.Halves()
	_, hi := before.Halves()

	_, ok := epoch.FromHalves(lo, hi).Unpack(epoch.Index(6).Tag())
	fmt.Println("half way:", ok)
	data, ok := after.Unpack(epoch.Index(6).Tag())
	fmt.Printf("arrived: %v %#x\n", ok, data)
	// Output:
	// half way: false
	// arrived: true 0x2222222233333333
}

// Eight members, four elements of 16 bytes from each to each, one block.
func ExampleRequirement() {
	maxElts, _ := epoch.Elements(8, 4)
	slots, _ := epoch.Slots(maxElts, 16)
	bytes, _ := epoch.Requirement(1, slots)
	fmt.Println(maxElts, "elements,", slots, "slots,", bytes, "bytes")

	i := epoch.Index(5)
	slot := epoch.SlotOf(3, 2, 4) // element 2 of rank 3
	for word := range epoch.Words(16) {
		fmt.Println("word", word, "in line", epoch.RegionStart(i, slots)+epoch.WordAt(slot, word, maxElts))
	}

	_, err := epoch.Requirement(math.MaxInt, slots)
	fmt.Println(errors.Is(err, epoch.ErrPlan))
	// Output:
	// 32 elements, 64 slots, 2064 bytes
	// word 0 in line 79
	// word 1 in line 111
	// true
}

// Packing by hand: rank 2 sends an element of 16 bytes to rank 0, which reads its
// memory until both lines have come.
func ExamplePlan() {
	const members, perPeer = 4, 8
	maxElts, _ := epoch.Elements(members, perPeer)
	plan, err := epoch.NewPlan(1, maxElts, 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	memory := make([]uint64, plan.Bytes/8) // rank 0's, where all can write
	now, slot := epoch.Index(0), epoch.SlotOf(2, 5, perPeer)

	go func() { // rank 2: any order will do, of lines and of halves
		for word, data := range [2]uint64{0x1122334455667788, 0x99aabbccddeeff00} {
			at := plan.Line(now, 0, slot, word) / 8
			lo, hi := epoch.Pack(data, now.Tag()).Halves()
			atomic.StoreUint64(&memory[at], lo)
			atomic.StoreUint64(&memory[at+1], hi)
		}
	}()
	for word := range epoch.Words(16) { // rank 0
		at := plan.Line(now, 0, slot, word) / 8
		for {
			line := epoch.FromHalves(atomic.LoadUint64(&memory[at]), atomic.LoadUint64(&memory[at+1]))
			if data, ok := line.Unpack(now.Tag()); ok {
				fmt.Printf("word %d at byte %d: %#x\n", word, plan.Line(now, 0, slot, word), data)
				break
			}
			runtime.Gosched()
		}
	}
	// Ends the epoch, which lets rank 2 into epoch 2.
	atomic.StoreUint64(&memory[plan.Header(0)/8], uint64(now)+1)
	// Output:
	// word 0 at byte 352: 0x1122334455667788
	// word 1 at byte 864: 0x99aabbccddeeff00
}

// Block 1 of a session of three slots, as NCCL counts its lines.
func ExamplePackedRegionStart() {
	fmt.Println(epoch.PackedRegionStart(0, 1, 3), epoch.PackedRegionStart(1, 1, 3))
	// Output: 8 11
}
