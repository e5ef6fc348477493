package ce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// noise is where all messages are cut from.
var noise = func() []byte {
	b := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{4, 5, 6}).Read(b)
	return b
}()

// message is what one rank sends to another in an operation: what is stale, or
// somebody else's, is wrong.
func message(size, op, from, to int) []byte {
	x := (uint64(op)<<20 ^ uint64(from)<<10 ^ uint64(to)) * 0x9e3779b97f4a7c15
	return noise[x>>44:][:size]
}

// lane is the part of a rank's window that belongs to one sender.
const lane = 80 << 10

// plan is one operation, the same on all ranks.
type plan struct {
	kind     int
	length   [][]int  // [from][to]
	window   [][]bool // [from][to]: the receiver wants it in its window
	shown    [][]bool // [from][to]: the sender has it in its window
	folded   []int    // [to]: what each sends it in a fold
	refuser  int
	slow     int
	staged   bool   // an exchange all of which goes through the ring
	inPlace  []bool // the own part of an exchange is where it is to be
	putSizes []int
}

const (
	exchange = iota
	counted  // with votes, which all are in favour
	refused
	batch
	fold
	foldInPlace // everything to everybody, over itself
	kinds
)

func planOf(seed uint64, op, n int) plan {
	rng := rand.New(rand.NewPCG(seed, uint64(op)))
	p := plan{kind: rng.IntN(kinds), refuser: rng.IntN(n), slow: rng.IntN(3 * n), staged: rng.IntN(5) == 0}
	for range n {
		p.inPlace = append(p.inPlace, rng.IntN(4) == 0 && p.kind != refused)
		lengths, windows, shown := make([]int, n), make([]bool, n), make([]bool, n)
		for to := range n {
			switch rng.IntN(5) {
			case 0: // nothing
			case 1:
				lengths[to] = 1 + rng.IntN(100)
			case 2:
				lengths[to] = 1 + rng.IntN(8<<10)
			case 3:
				lengths[to] = lane
			case 4:
				lengths[to] = 1024 * rng.IntN(lane/1024) // pieces that come out even
			}
			windows[to], shown[to] = rng.IntN(2) == 0, rng.IntN(2) == 0
		}
		p.length, p.window, p.shown = append(p.length, lengths), append(p.window, windows), append(p.shown, shown)
		p.folded = append(p.folded, 8*rng.IntN(1+rng.IntN(1+lane/8))*min(1, rng.IntN(4)))
	}
	if rng.IntN(3) == 0 { // one-sided: nobody sends to lower ranks
		for from := range n {
			clear(p.length[from][:from])
		}
	}
	for range rng.IntN(60) {
		p.putSizes = append(p.putSizes, rng.IntN(400))
	}
	return p
}

// canaries stand where nothing has been written.
var canaries = bytes.Repeat([]byte{0xa5}, lane)

// mixture makes consecutive operations of all kinds over one stream, exchanges
// of private memory and of windows, of any lengths on either side, agreed
// refusals and batches, with a slow rank now and then, and checks every byte of
// every destination and those behind it; with spare as if every rank had a CPU.
func mixture(ctx context.Context, team *symmem.Team, win *window.Window[byte], seed uint64, ops int, o ce.Options, spare bool) error {
	s, err := ce.Open(ctx, team, o)
	if err != nil {
		return err
	}
	if spare {
		s.ShareEdges()
	}
	n, me := team.Size(), team.Rank()
	own := win.Local()[:n*lane]
	shown := win.Local()[win.Len()/2:]
	private := make([]byte, n*lane)
	parts := make([]ce.Part, n)
	var b ce.Batch
	for op := range ops {
		p := planOf(seed, op, n)
		fail := func(format string, args ...any) error {
			return fmt.Errorf("seed %d, op %d, rank %d: %w", seed, op, me, fmt.Errorf(format, args...))
		}
		for at := 0; at < n*lane; at += lane {
			copy(own[at:], canaries)
			copy(private[at:], canaries)
		}
		if p.slow == me {
			time.Sleep(time.Millisecond)
		}
		if p.kind == batch {
			b.Reset()
			at := make([]int, n)
			for k, size := range p.putSizes {
				to := (me + k) % n
				ce.Put(&b, to, win.At(me*lane+at[to], size), message(size, op, me, k))
				at[to] += size
			}
			if err := s.Run(ctx, &b); err != nil {
				return fail("%w", err)
			}
			for from := range n {
				at := from * lane
				for k, size := range p.putSizes {
					if (from+k)%n == me {
						if !bytes.Equal(own[at:at+size], message(size, op, from, k)) {
							return fail("put %d of rank %d is wrong", k, from)
						}
						at += size
					}
				}
				if !untouched(own[at : (from+1)*lane]) {
					return fail("rank %d has put beyond its places", from)
				}
			}
			continue
		}
		source := func(to, size int) []byte {
			m := message(size, op, me, to)
			if p.shown[me][to] {
				m = shown[to*lane:][:copy(shown[to*lane:], m)]
			}
			return m
		}
		if p.kind == fold || p.kind == foldInPlace {
			call := symmem.Record{Op: symmem.OpReduceScatter, Engine: symmem.EngineCE, EltSize: 8}
			f := &hash{out: private}
			size := p.folded[me]
			switch p.kind {
			case fold:
				for r := range parts {
					parts[r] = ce.Part{Src: source(r, p.folded[r])}
				}
			case foldInPlace:
				size = p.folded[0]
				buf := append(private[:0], message(size, op, me, 0)...)
				if p.shown[me][0] {
					buf = shown[:copy(shown, buf)]
				}
				for r := range parts {
					parts[r] = ce.Part{Src: buf}
				}
				f.out = buf
			}
			if err := s.Fold(ctx, call, parts, size, p.kind == foldInPlace, f); err != nil {
				return fail("%w", err)
			}
			want := make([]byte, size)
			for from := range n {
				to := me
				if p.kind == foldInPlace {
					to = 0
				}
				for i, b := range message(size, op, from, to) {
					want[i] = 31*want[i] + b
				}
			}
			if !bytes.Equal(f.out[:size], want) || f.next != size {
				return fail("%d bytes folded wrong (in place: %v, %d came)", size, p.kind == foldInPlace, f.next)
			}
			continue
		}
		for r := range parts {
			size := p.length[r][me]
			parts[r] = ce.Part{Src: source(r, p.length[me][r]), Dst: private[r*lane:][:size]}
			if p.window[r][me] {
				parts[r].Dst = own[r*lane:][:size]
			}
		}
		if p.inPlace[me] {
			parts[me].Src = parts[me].Dst[:copy(parts[me].Dst, parts[me].Src)]
		}
		var no *ce.Refusal
		if p.kind == refused && p.refuser == me {
			no = &ce.Refusal{Need: op + 1, Have: op}
		}
		call := symmem.Record{Op: symmem.OpAllToAllv, Engine: symmem.EngineCE}
		if p.staged {
			call.Engine = symmem.EngineBCopy
		}
		taken := s.Taken()
		err := s.Exchange(ctx, call, parts, p.kind != exchange, no)
		if p.kind == refused {
			var e *symmem.TooShortError
			if !errors.As(err, &e) || e.Rank != p.refuser || e.Need != op+1 || e.Have != op {
				return fail("refused by %d: %v", p.refuser, err)
			}
			if !untouched(own) || !untouched(private) {
				return fail("something was copied though rank %d refused", p.refuser)
			}
			continue
		}
		if err != nil {
			return fail("%w", err)
		}
		for from := range n {
			size := p.length[from][me]
			if p.staged && from != me && size > 0 && s.Taken() == taken {
				return fail("%d bytes of rank %d did not come through the ring", size, from)
			}
			got, other := private[from*lane:][:lane], own[from*lane:][:lane]
			if p.window[from][me] {
				got, other = other, got
			}
			if !bytes.Equal(got[:size], message(size, op, from, me)) {
				return fail("%d bytes of rank %d are wrong (in a window: %v)", size, from, p.window[from][me])
			}
			if !untouched(got[size:]) || !untouched(other) {
				return fail("more than %d bytes of rank %d", size, from)
			}
		}
	}
	return s.Close(ctx)
}

// hash is a Folder whose result depends on the order of the ranks.
type hash struct {
	out  []byte
	next int // where the next range has to begin
}

func (h *hash) Fold(at int, from [][]byte) {
	if at != h.next || len(from[0])%8 != 0 {
		return // next will not come to the end
	}
	for i := range from[0] {
		var v byte
		for _, b := range from {
			v = 31*v + b[i]
		}
		h.out[at+i] = v
	}
	h.next += len(from[0])
}

func untouched(b []byte) bool {
	for ; len(b) > lane; b = b[lane:] {
		if !bytes.Equal(b[:lane], canaries) {
			return false
		}
	}
	return bytes.Equal(b, canaries[:len(b)])
}

// inWindow runs f with a window that has a lane to and from each rank.
func inWindow(ctx context.Context, w *symmem.World, f func(*window.Window[byte]) error) error {
	win, err := window.Alloc[byte](ctx, w, 2*w.Size()*lane)
	if err != nil {
		return err
	}
	if err := f(win); err != nil {
		return err
	}
	return win.Free(ctx)
}
