package bench

import (
	"context"

	"github.com/symwin/symwin/ce"
	"github.com/symwin/symwin/lla2a"
	"github.com/symwin/symwin/symmem"
	"github.com/symwin/symwin/window"
)

// element is a size that a session can carry: its element is a Go type, so each
// size is one.
type element struct {
	courier func(context.Context, *symmem.Team) (courier, error)
	volley  func(context.Context, *symmem.Team) (volley, error)
}

var elements = map[int64]*element{
	1: elementOf[[1]byte](), 2: elementOf[[2]byte](), 4: elementOf[[4]byte](),
	8: elementOf[[8]byte](), 16: elementOf[[16]byte](), 32: elementOf[[32]byte](),
	64: elementOf[[64]byte](), 128: elementOf[[128]byte](), 256: elementOf[[256]byte](),
	512: elementOf[[512]byte](), 1024: elementOf[[1024]byte](),
	2048: elementOf[[2048]byte](), 4096: elementOf[[4096]byte](), maxElement: elementOf[[maxElement]byte](),
}

func elementOf[T any]() *element { return &element{openElements[T], openVolley[T]} }

// maxElement is the largest element that is measured over a session. By the copy engine
// 4 KiB take 1.19 µs instead of 0.88 (Cascade Lake), 8 KiB 0.42 instead of 0.35 (Zen 5).
const maxElement = 8192

// byElement carries a message as one element of a session, a round trip an epoch.
type byElement[T any] struct {
	*lla2a.Session[T]
	peer          int
	outgoing, got [1]T
}

func openElements[T any](ctx context.Context, pair *symmem.Team) (courier, error) {
	s, err := lla2a.Open[T](ctx, pair, 1)
	if err != nil {
		return nil, err
	}
	return &byElement[T]{Session: s, peer: 1 - pair.Rank()}, nil
}

func (c *byElement[T]) out() []byte { return window.Raw(c.outgoing[:]) }
func (c *byElement[T]) in() []byte  { return window.Raw(c.got[:]) }

func (c *byElement[T]) trips(ctx context.Context, x *exercise, n int, leads bool) error {
	for range n {
		x.hands.count++
		if leads {
			x.write()
			if err := c.SendFrom(ctx, c.peer, 0, &c.outgoing[0]); err != nil {
				return err
			}
		}
		if err := c.RecvInto(ctx, c.peer, 0, &c.got[0]); err != nil {
			return err
		}
		x.read()
		if !leads {
			x.write()
			if err := c.SendFrom(ctx, c.peer, 0, &c.outgoing[0]); err != nil {
				return err
			}
		}
		if err := c.EndEpoch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// byCopy carries a message as an exchange of the copy engine in which one side
// has nothing to say.
type byCopy struct {
	*ce.Stream
	call          symmem.Record
	outgoing, got []byte
	sending       []ce.Part
	receiving     []ce.Part
}

func openCopies(ctx context.Context, pair *symmem.Team, size int) (courier, error) {
	call := symmem.Record{Op: symmem.OpBatch, Engine: symmem.EngineCE, EltSize: 1, Count: uint64(size)}
	s, err := ce.OpenFor(ctx, pair, call, ce.Options{})
	if err != nil {
		return nil, err
	}
	c := &byCopy{
		Stream: s, call: call,
		outgoing: make([]byte, size), got: make([]byte, size),
		sending: make([]ce.Part, 2), receiving: make([]ce.Part, 2),
	}
	peer := 1 - pair.Rank()
	c.sending[peer].Src, c.receiving[peer].Dst = c.outgoing, c.got
	return c, nil
}

func (c *byCopy) out() []byte { return c.outgoing }
func (c *byCopy) in() []byte  { return c.got }

func (c *byCopy) trips(ctx context.Context, x *exercise, n int, leads bool) error {
	for range n {
		x.hands.count++
		if leads {
			x.write()
			if err := c.Exchange(ctx, c.call, c.sending, false, nil); err != nil {
				return err
			}
		}
		if err := c.Exchange(ctx, c.call, c.receiving, false, nil); err != nil {
			return err
		}
		x.read()
		if !leads {
			x.write()
			if err := c.Exchange(ctx, c.call, c.sending, false, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
