package ce

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/symwin/symwin/internal/failpoint"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// crew copies a list of pieces, with helpers where the list is long and CPUs are
// spare. Whoever works takes the next grain of the list: a slice of a large copy,
// so that all finish together, or several small ones at once. Helpers are
// goroutines that end with the list, so a crew at rest costs nothing.
type crew struct {
	workers int
	list    []move
	bytes   int
	copies  func(dst, src []byte)

	mu       sync.Mutex
	next, at int // the first move that is not taken, and of it the first byte
	grain    int

	wg     sync.WaitGroup
	help   func() // a value made once
	failed error
}

type move struct{ dst, src []byte }

// grainBytes is the least that a helper is called for: starting one costs a few
// microseconds, a copy of so much several times as much.
const grainBytes = 128 << 10

// helpers is how many there are in this process.
var helpers atomic.Int32

func (c *crew) begin() { c.list, c.bytes = c.list[:0], 0 }

func (c *crew) add(dst, src []byte) {
	if len(src) > 0 {
		c.list = append(c.list, move{dst, src})
		c.bytes += len(src)
	}
}

// run copies the list and forgets it. A panic of a helper is raised here.
func (c *crew) run(copies func(dst, src []byte)) {
	defer c.forget()
	if c.workers == 1 || c.bytes < 2*grainBytes {
		for _, m := range c.list {
			copies(m.dst, m.src)
			failpoint.Hit(failpoint.CopyHalf)
		}
		return
	}
	c.next, c.at, c.copies, c.failed = 0, 0, copies, nil
	c.grain = max(grainBytes, c.bytes/(4*c.workers))
	if c.help == nil {
		c.help = c.helper
	}
	spare := int32(runtime.GOMAXPROCS(0) - 1)
	for range min(c.workers-1, c.bytes/grainBytes-1) {
		if helpers.Add(1) > spare {
			helpers.Add(-1)
			break
		}
		c.wg.Add(1)
		go c.help()
	}
	defer c.wg.Wait() // whatever happens here, nobody copies behind the return
	c.work()
	c.wg.Wait()
	if c.failed != nil {
		panic(c.failed)
	}
}

func (c *crew) forget() { clear(c.list); c.list = c.list[:0] }

func (c *crew) helper() {
	defer c.wg.Done()
	defer helpers.Add(-1)
	debug.SetPanicOnFault(true)
	defer func() {
		if v := recover(); v != nil {
			c.mu.Lock()
			c.failed = asError(v)
			c.mu.Unlock()
		}
	}()
	c.work()
}

func (c *crew) work() {
	for {
		first, at, last, end := c.take()
		if first == last {
			return
		}
		for i := first; i < last; i++ {
			m := c.list[i]
			lo, hi := 0, len(m.src)
			if i == first {
				lo = at
			}
			if i == last-1 && end > 0 {
				hi = end
			}
			c.copies(m.dst[lo:hi], m.src[lo:hi])
			failpoint.Hit(failpoint.CopyHalf)
		}
	}
}

// take is the next grain: moves first to last, of the first from byte at on, of
// the last up to byte end if that is not 0.
func (c *crew) take() (first, at, last, end int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, at = c.next, c.at
	room := c.grain
	for ; c.next < len(c.list) && room > 0; c.next++ {
		left := len(c.list[c.next].src) - c.at
		if left > room+grainBytes/2 { // no crumbs
			c.at += room
			return first, at, c.next + 1, c.at
		}
		room -= left
		c.at = 0
	}
	return first, at, c.next, 0
}

// copyAs chooses how to copy in an operation that touches so many bytes here.
func (s *Stream) copyAs(bytes int64) {
	if s.copies != nil && s.suits == bytes {
		return
	}
	s.suits, s.alone = bytes, window.CopyLoop(bytes, len(s.edges))
	s.copies = s.alone
	if s.crew.workers > 1 && bytes >= 2*grainBytes {
		s.copies = s.together
	}
}

// copyTogether copies one piece, with the crew if it is long.
func (s *Stream) copyTogether(dst, src []byte) {
	if len(src) < 2*grainBytes {
		s.alone(dst, src)
		return
	}
	s.crew.begin()
	s.crew.add(dst, src)
	s.crew.run(s.alone)
}

// spareCPUs is how many goroutines can copy at once without being in the way of
// another member: this process's share of the CPUs it may use.
func spareCPUs(team *symmem.Team) int {
	return max(1, runtime.GOMAXPROCS(0)/team.World().Size())
}
