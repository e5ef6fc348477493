package bench

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/symwin/symwin/internal/line"
)

// exercise is one task as one rank does it.
type exercise struct {
	// run does n operations: what is inside the clock. All ranks that take part
	// run the same number. Nil: this rank does not take part.
	run func(ctx context.Context, n int) error
	// out is what is sent and in what arrives, part by part. Before each round of
	// operations out gets new data, and after it in is compared, outside the
	// clock.
	out, in []part
	// common: what is sent is for everybody, so it is not another for each.
	common bool
	// load and wrong replace that where data is not simply carried: load puts the
	// data of a round in place, wrong counts the bytes that are not as they should
	// be after it.
	load  func(round uint64)
	wrong func(round uint64) int
	// close gives back what the exercise has opened. It is collective. May be nil.
	close func(ctx context.Context) error

	units    int           // figures an operation holds: 2 where it is a round trip and half of one counts; 0: 1
	shortest time.Duration // of a block, where it must be longer than others; 0: no
	cpu      *int          // on which alone this rank does it
	begin    func()        // a slice does; may be nil
	note     string        // how it does it, where there is a choice
	hands    hands
}

// part is bytes that go to a peer or come from it.
type part struct {
	peer  int
	bytes []byte
}

// newExercise is an exercise of rank me, to be completed.
func newExercise(t task, me int) *exercise {
	return &exercise{hands: hands{me: me, reads: t.Touch == touchRead || t.Touch == touchFull, writes: t.Touch == touchFull}}
}

// repeat makes the exercise's run of one operation, which touches the data
// itself where that has its place in the middle of it.
func (x *exercise) repeat(op func(ctx context.Context) error) {
	x.run = func(ctx context.Context, n int) error {
		for range n {
			x.hands.count++
			if err := op(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// collective is repeat for an operation in which everybody sends and then
// everybody has received.
func (x *exercise) collective(op func(ctx context.Context) error) {
	x.run = func(ctx context.Context, n int) error {
		for range n {
			x.hands.count++
			x.write()
			if err := op(ctx); err != nil {
				return err
			}
			x.read()
		}
		return nil
	}
}

// hands are the program's own share of an operation (--touch).
type hands struct {
	reads, writes bool
	me            int
	count         uint64 // operations so far, the same on all ranks
	sum           uint64 // of what was read, so that it is
}

// write is what the sender does before each operation: it rewrites all it sends.
func (x *exercise) write() {
	if x.hands.writes {
		x.rewrite()
	}
}

func (x *exercise) rewrite() {
	for _, p := range x.out {
		line.Fill(p.bytes, rewritten(x.hands.me, x.hands.count))
	}
}

// read is what the receiver does after each operation: it reads all it got.
func (x *exercise) read() {
	if x.hands.reads {
		x.look()
	}
}

func (x *exercise) look() {
	for _, p := range x.in {
		x.hands.sum ^= line.Read(p.bytes)
	}
}

// rewritten is the word with which rank rewrites its buffers before its count-th
// operation: cheap to write, and still another one each time.
func rewritten(rank int, count uint64) uint64 { return stream{count, rank, rank}.word(0) }

func (x *exercise) fill(round uint64) {
	if x.load != nil {
		x.load(round)
		return
	}
	x.spread(round)
}

// spread writes a round's data into what is sent.
func (x *exercise) spread(round uint64) {
	for _, p := range x.out {
		stream{round, x.hands.me, x.to(p.peer)}.fill(p.bytes)
	}
}

// to is whom the data for peer is for.
func (x *exercise) to(peer int) int {
	if x.common {
		return 0
	}
	return peer
}

// compares tells whether this rank looks at what arrives.
func (x *exercise) compares() bool { return x.run != nil && (x.wrong != nil || len(x.in) > 0) }

// wrongBytes counts what has not arrived as it was sent last.
func (x *exercise) wrongBytes(round uint64) (wrong int) {
	if x.wrong != nil {
		return x.wrong(round)
	}
	for _, p := range x.in {
		if x.hands.writes {
			wrong += wrongWords(p.bytes, rewritten(p.peer, x.hands.count))
		} else {
			wrong += stream{round, p.peer, x.to(x.hands.me)}.wrong(p.bytes)
		}
	}
	return wrong
}

// wrongWords counts the bytes of b in which it is not word after word.
func wrongWords(b []byte, word uint64) (wrong int) {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], word)
	for i, c := range b {
		if c != w[i%8] {
			wrong++
		}
	}
	return wrong
}
