package peers_test

import (
	"context"
	"fmt"
	"time"

	"github.com/symwin/symwin/bench/peers"
)

// A peer is opened once and measured as often as one likes; in between it is
// stopped.
func ExampleOpen() {
	ctx := context.Background()
	p, err := peers.Open(ctx, "pipe", peers.Job{Op: "latency", Ranks: 2, MaxBytes: 64, Check: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	for _, bytes := range []int64{8, 64} {
		s, err := p.Measure(ctx, peers.Point{Bytes: bytes, Shortest: 20 * time.Microsecond, Budget: time.Millisecond})
		fmt.Println(p.Name(), bytes, "bytes:", s.Wrong, "wrong,", err)
	}
	// Output:
	// pipe 8 bytes: 0 wrong, <nil>
	// pipe 64 bytes: 0 wrong, <nil>
}
