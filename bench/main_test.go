package bench

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/symwin/symwin/bench/peers"
	"github.com/symwin/symwin/internal/launch"
)

// tamperVariable makes ranks damage what arrives.
const tamperVariable = "BENCH_TEST_TAMPER"

var errGone = errors.New("the reader has gone")

// The test binary is what shmrun is otherwise: the ranks are started as it, and
// by hand it is the command too ("bench.test bench latency").
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case RankCommand:
			var tamper func(*exercise)
			if os.Getenv(tamperVariable) != "" {
				tamper = flipAByte
			}
			os.Exit(rankMain(context.Background(), os.Args[2:], tamper))
		case "-n": // startup: what shmrun does with a program
			n, _ := strconv.Atoi(os.Args[2])
			os.Exit(launch.Run(context.Background(), launch.Options{N: n}, []string{"true"}).ExitCode)
		case peers.RankCommand:
			os.Exit(peers.RankMain(context.Background(), os.Args[2:]))
		case "bench":
			os.Exit(Main(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
		}
	}
	os.Exit(m.Run())
}

func flipAByte(x *exercise) {
	run := x.run
	x.run = func(ctx context.Context, n int) error {
		err := run(ctx, n)
		if len(x.in) > 0 {
			x.in[0].bytes[0] ^= 0x40
		}
		return err
	}
}
