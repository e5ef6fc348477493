package ce

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/internal/line"
	"github.com/symwin/symwin/symmem"
)

// Private memory is read where it lies by the kernel (cross memory attach,
// process_vm_readv), where the kernel lets this rank do so: one copy instead of
// two. Its receiver reads it, as it reads a source in a window. What has to hold:
//
//   - It is that peer's memory. The kernel is asked for the thread that guards the
//     peer's liveness word, whose number is that word. The word is looked at before
//     and behind each call: a thread that lives behind it lived during it, so its
//     number was nobody else's. That the number means the same process here (it
//     does not across pid namespaces) is found out once, by reading a random word
//     that the peer has told; and the number stays what it was then, whatever else
//     somebody writes there.
//   - The memory stays where it is. The edge of the sender holds its source until
//     the receiver has told that it has been read, and what an edge holds has
//     escaped to the heap, which does not move.
//   - What was read is what was sent: a sender that gives up revokes the team
//     before it returns, and the receiver looks for that behind the last byte.
//   - A peer's numbers lead into that peer's memory only: how much is read, and
//     where it goes, follows from the own destination.
//
// The sender writing instead (process_vm_writev), or each of both one half, is not
// done. Two ranks with private memory, µs an exchange, read / written / halves:
// 64 KiB 5.0 / 5.0 / 5.7, 256 KiB 16 / 16 / 17, 1 MiB 90 / 97 / 89; where the program
// rewrites and reads all of it 13.9 / 12.0 / 14.8, 50 / 46 / 49, 217 / 206 / 206. So
// writing gains a tenth at times; but it would go on behind the back of a receiver
// that has given up, into memory that may be something else by then.

// Private memory of so many bytes and more is offered, and read by the kernel where
// ranks share CPUs; from twice as many on where each has one, and a copy in and a
// copy out can go on side by side. Each call has to find the pages of both sides.
// On Cascade Lake, µs an all-to-all, through the ring / by the kernel, two ranks:
// 4 KiB 1.4 / 1.6, 8 KiB 2.1 / 2.0, 16 KiB 3.0 / 2.7, 32 KiB 5.2 / 4.0, 64 KiB 9.5 /
// 6.4; a gather 1.4 / 1.7, 2.1 / 2.2, 3.3 / 2.8, 4.3 / 4.2, 7.1 / 6.7; eight on the
// same two CPUs, 4 KiB 106 / 62, 16 KiB 223 / 136.
const reachLeast = 4 << 10

// kernelAtMost is how many times as long as a plain copy the kernel's may take, so
// that it is worth while. Processors differ in what the kernel's way to each page
// costs: on Zen 4 it takes 4.3 to 5.2 times as long as a plain copy, and all that goes
// through the ring is faster, at any size (µs an all-to-all, two ranks, through the
// ring / by the kernel: 16 KiB 2.1 / 4.7, 64 KiB 6.2 / 9.7, 256 KiB 25 / 35, 1 MiB 99
// / 128, 16 MiB 3900 / 5700; rewritten and read by the program 3.0 / 7.9, 9.0 / 22,
// 39 / 64, 150 / 179, 10200 / 10400).
var kernelAtMost = 3.5

// kernelTakes is how many times as long it takes here, measured when it is first
// asked for. Each rank decides for what comes to it, and says so in its ready line,
// so ranks need not find the same.
var kernelTakes = sync.OnceValue(func() float64 {
	const size, tries = 128 << 10, 8
	from, to := make([]byte, size), make([]byte, size)
	for i := range from {
		from[i] = byte(i) // or all of it is one page of zeros
	}
	kernel, plain := time.Hour, time.Hour
	for range tries {
		t0 := time.Now()
		if _, err := readProcess(os.Getpid(), to, addressOf(from)); err != nil {
			return 0 // whatever it is, it is found out where it matters
		}
		t1 := time.Now()
		copy(to, from)
		kernel, plain = min(kernel, t1.Sub(t0)), min(plain, time.Since(t1))
	}
	return float64(kernel) / float64(max(plain, 1))
})

// reachChunk is how much is read between two looks at whether it is still wanted.
const reachChunk = 1 << 20

// attempt is what is known of whether a peer's memory can be read.
type attempt int32

const (
	untried attempt = iota
	reached
	refused
)

// A card stands in the line of a peer's complete count, behind it, from before
// its first ready line: where a random word of its lies, and the word.
const (
	cardAt   = 2
	cardWord = 3
)

// deal gives a peer this stream's card.
func (s *Stream) deal(to *[8]uint64) {
	line.StoreRelease64(&to[cardAt], addressOf(bytesOf(&s.secret)))
	line.StoreRelease64(&to[cardWord], s.secret)
}

// offerPrivate adds what concerns the kernel to an own ready line that is otherwise made:
// where src lies, if the peer may read it there, and that this rank would read what comes
// to dst.
func (e *edge) offerPrivate(src, dst []byte) {
	if !reachable {
		return
	}
	if e.mine.source == nowhere && len(src) >= reachLeast {
		e.mine.atOrNeed = addressOf(src)
	}
	if e.reach == reached && len(dst) >= e.s.readLeast {
		e.mine.kind |= readsBit
	}
}

// try finds out, once, whether the peer's memory can be read: when its first offer
// is heard. Offers are taken up from the next operation on, when this rank's ready
// line can say so; until then, and where the kernel refuses, for good, they go
// through the ring.
func (e *edge) try() {
	var word uint64
	at, want := atomic.LoadUint64(&e.card[cardAt]), atomic.LoadUint64(&e.card[cardWord])
	n, alive, err := e.readOther(bytesOf(&word), at)
	if !alive {
		return
	}
	if err == nil && (n != 8 || word != want) {
		err = errors.New("its process has another number here")
	}
	if err != nil {
		e.reach = refused
		text := fmt.Sprintf("rank %d: %v", e.s.team.WorldRank(e.peer), err)
		e.s.unreached.CompareAndSwap(nil, &text)
		return
	}
	e.reach, e.s.readLeast = reached, reachLeast
	if e.s.shares {
		e.s.readLeast *= 2
	}
	if t := kernelTakes(); t > kernelAtMost {
		e.s.readLeast = math.MaxInt
		text := fmt.Sprintf("it takes %.1f times as long as a plain copy here, and the ring does not", t)
		e.s.unreached.CompareAndSwap(nil, &text)
	}
}

// Unreached is why the kernel does not read private memory of a member, which goes
// through the ring: the first one that was found so, or "". It may be called
// concurrently.
func (s *Stream) Unreached() string {
	if text := s.unreached.Load(); text != nil {
		return *text
	}
	return ""
}

// readOther reads the peer's memory at an address of its own. alive tells that it
// was the peer's. An error without bytes says that the kernel will not, or that
// there is no memory.
func (e *edge) readOther(dst []byte, at uint64) (n int, alive bool, err error) {
	thread := e.s.team.Thread(e.peer)
	if thread == 0 {
		return 0, false, nil
	}
	if e.thread == 0 {
		e.thread = thread
	}
	if thread != e.thread {
		return 0, true, errOtherThread
	}
	n, err = readProcess(thread, dst, at)
	return n, e.s.team.Thread(e.peer) == thread, err
}

var errOtherThread = errors.New("its liveness word is another than when it was first read")

// fetchPrivate reads what the peer offered into dst. false: not all of it, since
// the peer has died or the operation was given up, which the wait finds out.
func (e *edge) fetchPrivate(dst []byte, at uint64) bool {
	for len(dst) > 0 {
		n, alive, err := e.readOther(dst[:min(len(dst), reachChunk)], at)
		failpoint.Hit(failpoint.CopyHalf)
		switch {
		case !alive || e.s.givenUp():
			return false
		case noProcess(err):
			// It was there when its memory was first read: it has died, and its liveness
			// word does not say so yet. By pidfd it does only when all its memory is freed.
			return false
		case err != nil:
			if noMemory(err) {
				dst[0] = 0 // if it is this rank's memory that is gone, this says so
			}
			e.s.fail(fmt.Errorf("%w: reading the memory of rank %d (%d bytes at %#x): %w", symmem.ErrRegion, e.s.team.WorldRank(e.peer), len(dst), at, err))
			return false
		}
		dst, at = dst[n:], at+uint64(n)
	}
	return true
}
