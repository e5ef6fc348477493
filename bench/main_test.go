package bench

import (
	"context"
	"os"
	"testing"
)

// The test binary is what shmrun is otherwise: the ranks are started as it, and
// by hand it is the command too ("bench.test bench latency").
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case RankCommand:
			os.Exit(RankMain(context.Background(), os.Args[2:]))
		case "bench":
			os.Exit(Main(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
		}
	}
	os.Exit(m.Run())
}
