package ce

import (
	"context"
	"sync/atomic"

	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
)

// PostReady writes, by a rank that is inside no call, a ready line of the next
// operation, which is call: what a damaged or hostile peer could write.
func (s *Stream) PostReady(to int, call symmem.Record, want, length, how uint64) {
	r := ready{want: want, length: length, source: nowhere, kind: how}
	r.post(s.edges[to].readyOut, tagOf(s.sequence+1, &call))
	s.team.RingAll()
}

// Share is the bytes of staging for one sender.
func (s *Stream) Share() int { return s.ring.share }

// The hows of a ready line.
const (
	Direct = uint64(direct)
	Staged = uint64(staged)
)

// Started is the Pending of the batch's latest start.
func (b *Batch) Started() *Pending { return &b.pending }

// CopyByCrew copies every from to its dst.
func CopyByCrew(workers int, dst, from [][]byte) {
	c := crew{workers: workers}
	c.begin()
	for i := range dst {
		c.add(dst[i], from[i])
	}
	c.run(func(dst, src []byte) { copy(dst, src) })
}

// Piece is bytes Lo to Hi of an operation.
type Piece struct{ Op, Lo, Hi int }

// CutBatch is the steps of a batch of member me among n.
func CutBatch(me, n int, to, size []int, large int, bytes int64) (steps [][]Piece) {
	var b Batch
	memory := make([]byte, 8<<20)
	for i := range to {
		b.puts = append(b.puts, put{to: to[i], src: memory[:size[i]]})
	}
	b.arrange(me, n)
	b.cut(large, bytes)
	from := step{}
	for _, st := range b.steps {
		var list []Piece
		b.each(from, st, func(i int32, lo, hi int) { list = append(list, Piece{int(i), lo, hi}) })
		steps, from = append(steps, list), st
	}
	return steps
}

// Share is a share of a ring.
type Share struct{ r ring }

func NewShare(staging int64, n int) Share              { return Share{ringFor(staging, n)} }
func (s Share) Bytes() int                             { return s.r.share }
func (s Share) Piece(n, unit int) int                  { return s.r.pieceFor(n, unit) }
func (s Share) Place(used uint64, n int) (int, uint64) { return s.r.place(used, n) }

// What a damaged or hostile peer could write to member `to`.
func (s *Stream) ForgeComplete(to int, v uint64) { line.StoreRelease64(s.edges[to].completeOut, v) }
func (s *Stream) ForgeCredit(to int, v uint64)   { line.StoreRelease64(s.edges[to].creditOut, v) }
func (s *Stream) ForgeReady(to int, words [8]uint64) {
	line.PublishRecord(s.edges[to].readyOut, &words)
	s.team.RingAll()
}

// Tag is the last word of a ready line for the operation that is so many ahead.
func (s *Stream) Tag(ahead uint64, call symmem.Record) uint64 { return tagOf(s.sequence+ahead, &call) }

// Reaches tells whether member r's private memory can be read, as far as is known.
func (s *Stream) Reaches(r int) bool { return s.edges[r].reach == reached }

// KernelAtMost is how many times as long as a plain copy the kernel's may take.
func KernelAtMost(times float64) { kernelAtMost = times }

// ForgeOffer posts, to a member that is inside no call, the ready line of the next
// operation, which is call: the own private memory of size bytes at an address.
func (s *Stream) ForgeOffer(to int, call symmem.Record, at, size uint64) {
	r := ready{source: nowhere, atOrNeed: at, sends: size, length: size, kind: kindOf(staged, true, 0)}
	r.want, _ = s.shareOf(to)
	r.post(s.edges[to].readyOut, tagOf(s.sequence+1, &call))
	s.team.RingAll()
}

// ForgeCard changes the word by which others would know this process.
func (s *Stream) ForgeCard() {
	s.secret++
}

// Cut is how many of n bytes their sender writes on a shared edge; loads and own
// parts are the sender's and the receiver's.
func Cut(n, load, own, load2, own2 uint64, shown bool) uint64 {
	return cutOf(&ready{sends: n, loadOrHave: load, kind: kindOf(direct, false, own)}, &ready{loadOrHave: load2, kind: kindOf(direct, false, own2)}, shown)
}

// Taken is the bytes of the ring that this member has used, ever.
func (s *Stream) Taken() (bytes uint64) {
	for i := range s.edges {
		bytes += s.edges[i].taken
	}
	return bytes
}

// MissingBehind makes an exchange, and behind its invitations calls f, which may look
// for what moves. It also returns whom a wait would call missing then, and goes on
// behind asked.
func (s *Stream) MissingBehind(ctx context.Context, call symmem.Record, parts []Part, f func(look func() bool), asked func()) (missing []int, err error) {
	return s.missingBehind(ctx, call, parts, &operation{}, f, asked)
}

// FoldMissingBehind is MissingBehind of a fold through the ring.
func (s *Stream) FoldMissingBehind(ctx context.Context, call symmem.Record, parts []Part, n int, folder Folder, f func(look func() bool), asked func()) (missing []int, err error) {
	return s.missingBehind(ctx, call, parts, &operation{folder: folder, unit: 1, length: n, staged: true}, f, asked)
}

func (s *Stream) missingBehind(ctx context.Context, call symmem.Record, parts []Part, op *operation, f func(look func() bool), asked func()) (missing []int, err error) {
	if err := s.lane.Enter(ctx, &call); err != nil {
		return nil, err
	}
	needs, err := s.assign(partsOf(parts), op)
	if err != nil {
		return nil, s.lane.Leave(err)
	}
	s.number(&call)
	s.begin()
	if err := s.invite(op, needs); err != nil {
		return nil, s.lane.Leave(err)
	}
	s.lane.PublishLate()
	f((*progress)(s).Look)
	missing = (*progress)(s).Missing(nil)
	asked()
	for (len(s.open) > 0 || s.folding()) && err == nil {
		err = s.await(ctx, (*progress)(s))
	}
	return missing, s.lane.Leave(err)
}

// Received is how many pieces of member r were received, ever, and Came how many it has
// announced.
func (s *Stream) Received(r int) uint64 { return s.edges[r].received }
func (s *Stream) Came(r int) uint64     { return atomic.LoadUint64(s.edges[r].completeIn) }

// Sent is how many pieces have gone to member r, ever.
func (s *Stream) Sent(r int) uint64 { return s.edges[r].sent }

// ShareEdges has edges of one direction shared, and pairs go their own way, as where every
// rank has a CPU.
func (s *Stream) ShareEdges() {
	s.shares = true
	s.findOther()
}

// Astray is what pair remembers of the last exchanges edge by edge: of those that are not
// shareable, and of those that are.
func (s *Stream) Astray() [2]bool { return s.other.astray }

// GivesWay reports whether Start would give the program's CPU to b, behind a batch that
// has not ended or behind none.
func (s *Stream) GivesWay(b *Batch, behind bool) bool {
	b.after = b.after[:0]
	if behind {
		p := new(Pending)
		p.begin()
		b.after = append(b.after, p.now())
	}
	return s.givesWay(b)
}

// OnlyWaits asks an edge whether all that is left is to hear of its peer.
func OnlyWaits(settled, sent, written, read bool) bool {
	e := edge{settled: settled, done: sent, in: pull, read: read}
	if written {
		e.in = push
	}
	return e.onlyWaits()
}
